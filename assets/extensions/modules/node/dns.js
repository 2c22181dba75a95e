// node:dns is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:dns", "name lookups are the host's");
export const {
  lookup, promises, resolve,
} = absent;
export const {
  ADDRCONFIG, ADDRGETNETWORKPARAMS, ALL, BADFAMILY, BADFLAGS, BADHINTS, BADNAME, BADQUERY, BADRESP, BADSTR, CANCELLED, CONNREFUSED,
  DESTRUCTION, EOF, FILE, FORMERR, LOADIPHLPAPI, NODATA, NOMEM, NONAME, NOTFOUND, NOTIMP, NOTINITIALIZED, REFUSED, Resolver, SERVFAIL,
  TIMEOUT, V4MAPPED, getDefaultResultOrder, getServers, lookupService, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx,
  resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse, setDefaultResultOrder, setServers,
} = absent;
export default absent;
