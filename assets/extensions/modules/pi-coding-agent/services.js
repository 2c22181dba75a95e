// What pi's own program is made of and extensions make anew for agent sessions: models, keys, settings, resources.
//
// Models and keys stay with the host, whatever is asked of these. Settings are read from pi's files and changed in memory alone.

import { modelRegistry } from "../../host/models.js";
import { ask } from "../../runtime/bridge.js";
import { unsupported } from "../../runtime/errors.js";
import { existsSync, readFileSync } from "../node/fs.js";
import { dirname, join, resolve } from "../node/path.js";
import { AgentExtensions } from "./agent_extensions.js";
import { getAgentDir } from "./resources.js";
import { loadSkills } from "./skills.js";

export class AuthStorage {
  static create() {
    return new AuthStorage();
  }
  static inMemory() {
    return new AuthStorage();
  }
  static fromStorage() {
    return new AuthStorage();
  }
  getApiKey(provider) {
    return modelRegistry.getApiKeyForProvider(provider);
  }
  hasAuth(provider) {
    return Boolean(ask("model.hasKey", { provider }));
  }
  has(provider) {
    return this.hasAuth(provider);
  }
  getAuthStatus(provider) {
    return { configured: this.hasAuth(provider) };
  }
  get() {
    return undefined;
  }
  list() {
    return [];
  }
  getAll() {
    return {};
  }
  drainErrors() {
    return [];
  }
  reload() {}
  setFallbackResolver() {}
  removeRuntimeApiKey() {}
  setRuntimeApiKey() {
    throw unsupported("AuthStorage.setRuntimeApiKey", "levain keeps the keys of models: name a variable in a provider file");
  }
  set() {
    throw unsupported("AuthStorage.set", "levain keeps the keys of models");
  }
}

/** The models of the host, whatever file is named. */
export class ModelRegistry {
  authStorage = new AuthStorage();
  static create() {
    return new ModelRegistry();
  }
  static inMemory() {
    return new ModelRegistry();
  }
  getProviderDisplayName(provider) {
    return provider;
  }
  unregisterProvider() {}
}
for (const [name, value] of Object.entries(modelRegistry)) {
  if (typeof value === "function") Object.defineProperty(ModelRegistry.prototype, name, { value, writable: true, configurable: true });
}
export class ModelRuntime extends ModelRegistry {
  static async create() {
    return new ModelRuntime();
  }
  registerNativeProvider() {
    throw unsupported("ModelRuntime.registerNativeProvider");
  }
}

const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];

/** A model by what a command line says: `provider/id`, an id or a part of one, perhaps with `:level` behind it. */
export function resolveCliModel({ cliProvider, cliModel }) {
  if (!cliModel) return { model: undefined, thinkingLevel: undefined, warning: undefined, error: undefined };
  const level = LEVELS.find((one) => cliModel.endsWith(`:${one}`));
  const name = level ? cliModel.slice(0, -level.length - 1) : cliModel;
  const wanted = cliProvider && !name.startsWith(`${cliProvider}/`) ? `${cliProvider}/${name}` : name;
  const [all, available] = [modelRegistry.getAll(), modelRegistry.getAvailable()];
  const slash = wanted.indexOf("/");
  const exact = slash > 0 ? modelRegistry.find(wanted.slice(0, slash), wanted.slice(slash + 1)) : undefined;
  const byId = (list) => list.find(({ id }) => id === wanted) ?? list.find(({ provider, id }) => `${provider}/${id}`.toLowerCase().includes(wanted.toLowerCase()));
  const model = exact ?? byId(available) ?? byId(all);
  const error = model ? undefined : `Model "${cliModel}" not found`;
  return { model, thinkingLevel: model ? level : undefined, warning: undefined, error };
}

const read = (file) => {
  try {
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  } catch (error) {
    return { error };
  }
};
const merged = (base, over) => {
  const whole = { ...base };
  for (const [name, value] of Object.entries(over ?? {})) {
    const isTable = value !== null && typeof value === "object" && !Array.isArray(value);
    whole[name] = isTable ? merged(whole[name] ?? {}, value) : value;
  }
  return whole;
};

// What is read of pi's settings by a method of its own: the method's name behind `get`, the fields that lead there, what counts where nobody said.
const SETTINGS = {
  DefaultProvider: ["defaultProvider"], DefaultModel: ["defaultModel"], DefaultThinkingLevel: ["defaultThinkingLevel"], SteeringMode: ["steeringMode", "one-at-a-time"], FollowUpMode: ["followUpMode", "one-at-a-time"],
  Theme: ["theme"], Transport: ["transport", "auto"], CompactionEnabled: ["compaction.enabled", true], CompactionReserveTokens: ["compaction.reserveTokens", 16384],
  CompactionKeepRecentTokens: ["compaction.keepRecentTokens", 20000], BranchSummarySkipPrompt: ["branchSummary.skipPrompt", false], RetryEnabled: ["retry.enabled", true], HideThinkingBlock: ["hideThinkingBlock", false],
  ShellPath: ["shellPath"], ShellCommandPrefix: ["shellCommandPrefix"], QuietStartup: ["quietStartup", false], NpmCommand: ["npmCommand"], CollapseChangelog: ["collapseChangelog", false],
  Packages: ["packages", []], ExtensionPaths: ["extensions", []], SkillPaths: ["skills", []], PromptTemplatePaths: ["prompts", []], ThemePaths: ["themes", []], EnableSkillCommands: ["enableSkillCommands", true],
  ThinkingBudgets: ["thinkingBudgets"], ShowImages: ["terminal.showImages", true], ImageAutoResize: ["images.autoResize", true], BlockImages: ["images.blockImages", false], EnabledModels: ["enabledModels"],
  DoubleEscapeAction: ["doubleEscapeAction", "tree"], TreeFilterMode: ["treeFilterMode", "default"], ShowHardwareCursor: ["showHardwareCursor", false], SessionDir: ["sessionDir"], LastChangelogVersion: ["lastChangelogVersion"],
  EditorPaddingX: ["editorPaddingX", 0], AutocompleteMaxVisible: ["autocompleteMaxVisible", 5], CodeBlockIndent: ["markdown.codeBlockIndent", "  "],
};

export class SettingsManager {
  #global;
  #project;
  #own = {};
  #errors = [];
  #places;
  constructor(places, settings = {}) {
    this.#places = places;
    this.#own = settings;
    this.#load();
  }
  static create(cwd = globalThis.process.cwd(), agentDir = getAgentDir()) {
    return new SettingsManager([join(agentDir, "settings.json"), join(cwd, ".pi", "settings.json")]);
  }
  static inMemory(settings = {}) {
    return new SettingsManager([], settings);
  }
  static fromStorage(storage) {
    const settings = {};
    for (const scope of ["global", "project"]) storage.withLock(scope, (text) => void Object.assign(settings, merged(settings, text ? JSON.parse(text) : {})));
    return new SettingsManager([], settings);
  }
  #load() {
    const [global, project] = this.#places.map(read);
    const taken = (found, scope) => {
      if (!found?.error) return found ?? {};
      this.#errors.push({ scope, error: found.error });
      return {};
    };
    this.#global = taken(global, "global");
    this.#project = taken(project, "project");
  }
  async reload() {
    this.#load();
  }
  async flush() {}
  drainErrors() {
    return this.#errors.splice(0);
  }
  getGlobalSettings() {
    return structuredClone(this.#global);
  }
  getProjectSettings() {
    return structuredClone(this.#project);
  }
  applyOverrides(overrides) {
    this.#own = merged(this.#own, overrides);
  }
  setting(path) {
    const all = merged(merged(this.#global, this.#project), this.#own);
    return path.split(".").reduce((value, name) => value?.[name], all);
  }
  change(path, value) {
    this.applyOverrides(path.split(".").reduceRight((inner, name) => ({ [name]: inner }), value));
  }
  getCompactionSettings() {
    return { enabled: this.getCompactionEnabled(), reserveTokens: this.getCompactionReserveTokens(), keepRecentTokens: this.getCompactionKeepRecentTokens() };
  }
  getBranchSummarySettings() {
    return { reserveTokens: this.setting("branchSummary.reserveTokens") ?? 16384, skipPrompt: this.getBranchSummarySkipPrompt() };
  }
  getRetrySettings() {
    return { enabled: this.getRetryEnabled(), maxRetries: this.setting("retry.maxRetries") ?? 3, baseDelayMs: this.setting("retry.baseDelayMs") ?? 2000 };
  }
  setDefaultModelAndProvider(provider, model) {
    this.applyOverrides({ defaultProvider: provider, defaultModel: model });
  }
}
for (const [name, [path, usual]] of Object.entries(SETTINGS)) {
  Object.defineProperties(SettingsManager.prototype, {
    [`get${name}`]: { value() { return this.setting(path) ?? usual; }, writable: true, configurable: true },
    [`set${name}`]: { value(value) { this.change(path, value); }, writable: true, configurable: true },
  });
}

const CONTEXT_FILES = ["AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/** The files that tell agents of a project: the person's own, then those from the outermost folder to this one. */
export function loadProjectContextFiles({ cwd = globalThis.process.cwd(), agentDir = getAgentDir() } = {}) {
  const folders = [];
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (folder === dirname(folder)) break;
  }
  const found = [];
  for (const folder of [agentDir, ...folders]) {
    const path = CONTEXT_FILES.map((name) => join(folder, name)).find((file) => existsSync(file));
    if (!path || found.some((file) => file.path === path)) continue;
    try {
      found.push({ path, content: readFileSync(path, "utf8") });
    } catch {
      // What may not be read tells nothing.
    }
  }
  return found;
}

const changed = (change, value) => (change ? change(value) : value);

export class DefaultResourceLoader {
  #options;
  #extensions;
  #result = { extensions: [], errors: [], runtime: { flagValues: new Map(), pendingProviderRegistrations: [], pendingNativeProviderRegistrations: [] } };
  #skills = { skills: [], diagnostics: [] };
  #agentsFiles = [];
  /** A loader that was used before clears what it keeps, which this one never keeps. */
  loaded = false;
  constructor(options = {}) {
    this.#options = { ...options, cwd: options.cwd ?? globalThis.process.cwd(), agentDir: options.agentDir ?? getAgentDir() };
  }
  async reload() {
    const { cwd, agentDir, extensionFactories = [], additionalExtensionPaths = [], additionalSkillPaths = [], noSkills, noContextFiles, extensionsOverride, skillsOverride, agentsFilesOverride } = this.#options;
    this.#extensions = await AgentExtensions.load(extensionFactories);
    const errors = [...this.#extensions.loadErrors, ...additionalExtensionPaths.map((path) => ({ path, error: "agent sessions of extensions load no files in levain" }))];
    this.#result = changed(extensionsOverride, { ...this.#result, extensions: this.#extensions.extensions, errors });
    this.#extensions.narrow(this.#result.extensions);
    this.#skills = changed(skillsOverride, loadSkills({ cwd, agentDir, skillPaths: additionalSkillPaths, includeDefaults: !noSkills }));
    const agentsFiles = noContextFiles ? [] : loadProjectContextFiles({ cwd, agentDir });
    this.#agentsFiles = changed(agentsFilesOverride, { agentsFiles }).agentsFiles;
    this.loaded = true;
  }
  /** What a session has its handlers and tools from. */
  async agentExtensions() {
    return (this.#extensions ??= await AgentExtensions.load([]));
  }
  getExtensions() {
    return this.#result;
  }
  getSkills() {
    return this.#skills;
  }
  getPrompts() {
    return { prompts: [], diagnostics: [] };
  }
  getThemes() {
    return { themes: [], diagnostics: [] };
  }
  getAgentsFiles() {
    return { agentsFiles: this.#agentsFiles };
  }
  getSystemPrompt() {
    return changed(this.#options.systemPromptOverride, this.#options.systemPrompt);
  }
  getAppendSystemPrompt() {
    return changed(this.#options.appendSystemPromptOverride, [this.#options.appendSystemPrompt ?? []].flat());
  }
  getPathMetadata() {
    return new Map();
  }
  extendResources() {}
}

/** Keys stay with the host. */
export const readStoredCredential = () => undefined;

/** Whether there is something of a project that runs or instructs only once the project is trusted. */
export const hasTrustRequiringProjectResources = (cwd) => [".pi", ".ai", ".agents/skills"].some((name) => existsSync(join(cwd, name)));
