export const CONFIG_SCHEMA = 3;
