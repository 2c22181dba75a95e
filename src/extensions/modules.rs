//! Modules: which file a name means, and what is evaluated for it.
//!
//! The rules of finding are the JavaScript side's own (`resolveModule`), so that `import` and `require` agree. Names of
//! modules: `levain:PATH` is a file of the JavaScript side, which only such files may import by that name; `cjs:PATH` a
//! `CommonJS` file made a module; everything else is a path.

use super::assets;
use super::files;
use super::place::{Places, Problem};
use super::plain::Plain;
use super::settings::Settings;
use super::strip::{Stripped, strip};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Exception, Function, Module, Object, Persistent, Result, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::rc::Rc;

pub(super) const OWN: &str = "levain:";
const COMMON: &str = "cjs:";
const STUB: &str = "levain:stub/";
/// What stands behind a module whose imports wait where it does not itself: the engine (the QuickJS-ng of
/// rquickjs 0.14) takes such a one for unfinished ever after, so that whoever imports it later waits without an end.
const WAITS: &str = "\nawait undefined;\n";

/// What resolver, loader and realm share.
pub(super) struct Modules {
    settings: Rc<Settings>,
    /// The exports of `host.js` and the functions by which it looks at files; gone when the engine is about to end.
    api: RefCell<Option<(Persistent<Object<'static>>, Persistent<Object<'static>>)>>,
    /// Names that the host serves, and by which file.
    catalog: RefCell<HashMap<String, String>>,
    /// Modules with stubs for names that a built-in one lacks: the source of each.
    stubs: RefCell<Vec<String>>,
    /// Which of them a file's import of a name means.
    led: RefCell<HashMap<(String, String), String>>,
    /// Files that were looked at before they are loaded: their text, and what it became.
    seen: RefCell<HashMap<String, (String, Stripped)>>,
    /// What was found for their imports, until the engine asks.
    found: RefCell<HashMap<(String, String), String>>,
    /// Whether files wait for something as they are evaluated, or what they import does.
    waiting: RefCell<HashMap<String, bool>>,
    pub(super) places: RefCell<Places>,
    /// The first file of a load that could not be read.
    pub(super) broken: RefCell<Option<Problem>>,
}

impl std::fmt::Debug for Modules {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Modules").field("places", &self.places).finish_non_exhaustive()
    }
}

impl Modules {
    pub(super) fn new(settings: Rc<Settings>) -> Self {
        Self {
            settings,
            api: RefCell::default(),
            catalog: RefCell::default(),
            stubs: RefCell::default(),
            led: RefCell::default(),
            seen: RefCell::default(),
            found: RefCell::default(),
            waiting: RefCell::default(),
            places: RefCell::default(),
            broken: RefCell::default(),
        }
    }

    /// Lets go of everything that belongs to the engine, which has to happen before it ends.
    pub(super) fn clear(&self) {
        self.api.borrow_mut().take();
    }

    /// Evaluates the JavaScript side. Its promises are settled by whoever runs the jobs.
    pub(super) fn boot(&self, ctx: &Ctx<'_>) -> Result<()> {
        let (host, _) = Module::declare(ctx.clone(), format!("{OWN}host.js"), source_of("host.js")?)?.eval()?;
        let api = host.namespace()?;
        let files = Object::new(ctx.clone())?;
        let settings = Rc::clone(&self.settings);
        let kind = move |path: String| match files::kind_of(&settings.policy, &path) {
            1 => Some("file"),
            2 => Some("dir"),
            _ => None,
        };
        files.set("kind", Function::new(ctx.clone(), kind)?)?;
        let settings = Rc::clone(&self.settings);
        let read = move |path: String| {
            let bytes = files::read(&settings.policy, Path::new(&path)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        files.set("read", Function::new(ctx.clone(), read)?)?;
        let settings = Rc::clone(&self.settings);
        let may = move |from: String, found: String| settings.may_import(Path::new(&from), Path::new(&found));
        files.set("mayImport", Function::new(ctx.clone(), may)?)?;
        *self.api.borrow_mut() = Some((Persistent::save(ctx, api), Persistent::save(ctx, files)));
        Ok(())
    }

    /// Makes everything that the host serves ready, so that `require` can answer at once.
    pub(super) fn provide(&self, ctx: &Ctx<'_>) -> Result<()> {
        let catalog: HashMap<String, String> = self.api(ctx)?.get("CATALOG")?;
        let mut files: Vec<&String> = catalog.values().collect();
        files.sort();
        files.dedup();
        let mut source = format!("import {{ provide }} from \"{OWN}host.js\";");
        for (index, file) in files.iter().enumerate() {
            let _infallible =
                writeln!(source, "import * as m{index} from \"{OWN}{file}\"; provide(\"{file}\", m{index});");
        }
        Module::declare(ctx.clone(), format!("{OWN}all.js"), source)?.eval()?;
        *self.catalog.borrow_mut() = catalog;
        Ok(())
    }

    /// The exports of `host.js`.
    pub(super) fn api<'js>(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let api = self.api.borrow().as_ref().map(|(api, _)| api.clone());
        api.ok_or(Error::Unknown)?.restore(ctx)
    }

    fn files<'js>(&self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        let files = self.api.borrow().as_ref().map(|(_, files)| files.clone());
        files.ok_or(Error::Unknown)?.restore(ctx)
    }

    fn resolve(&self, ctx: &Ctx<'_>, base: &str, name: &str) -> Result<String> {
        let key = (base.to_owned(), name.to_owned());
        if let Some(led) = self.led.borrow().get(&key) {
            return Ok(led.clone());
        }
        if let Some(found) = self.found.borrow_mut().remove(&key) {
            return Ok(found);
        }
        let served = || self.catalog.borrow().get(name).map(|file| format!("{OWN}{file}"));
        if let Some(within) = base.strip_prefix(OWN).or_else(|| base.starts_with(COMMON).then_some("")) {
            if name.starts_with(OWN) {
                return Ok(name.to_owned());
            }
            return Ok(served().unwrap_or_else(|| format!("{OWN}{}", joined(within, name))));
        }
        if let Some(served) = served() {
            return Ok(served);
        }
        if name.starts_with(OWN) || name.starts_with(COMMON) {
            return Err(Exception::throw_type(ctx, &format!("Cannot find module '{name}' imported from {base}")));
        }
        let (api, files) = (self.api(ctx)?, self.files(ctx)?);
        let found: String = api.get::<_, Function<'_>>("resolveModule")?.call((files.clone(), name, base, "import"))?;
        let format: String = api.get::<_, Function<'_>>("formatOf")?.call((files, found.as_str()))?;
        Ok(if format == "esm" { found } else { format!("{COMMON}{found}") })
    }

    fn load<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Module<'js, Declared>> {
        if let Some(number) = name.strip_prefix(STUB) {
            let number: usize = number.parse().unwrap_or(usize::MAX);
            let source = self.stubs.borrow().get(number).cloned();
            return Module::declare(ctx.clone(), name, source.ok_or_else(|| Error::new_loading(name))?);
        }
        if let Some(path) = name.strip_prefix(OWN) {
            return Module::declare(ctx.clone(), name, source_of(path)?);
        }
        if let Some(path) = name.strip_prefix(COMMON) {
            return self.common(ctx, name, path);
        }
        self.file(ctx, name)
    }

    /// A `CommonJS` or JSON file as a module.
    fn common<'js>(&self, ctx: &Ctx<'js>, name: &str, path: &str) -> Result<Module<'js, Declared>> {
        let api = self.api(ctx)?;
        let exports: Value<'js> = api.get::<_, Function<'_>>("importCommonJs")?.call((path,))?;
        let names: Vec<String> = api.get::<_, Function<'_>>("commonJsNames")?.call((exports,))?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut source = format!(
            "import {{ importCommonJs }} from \"{OWN}host.js\";\nconst module = importCommonJs({});\nexport default module;\n",
            quoted(path)
        );
        for (index, exported) in names.iter().enumerate() {
            let key = quoted(exported);
            let _infallible = writeln!(source, "const v{index} = module[{key}]; export {{ v{index} as {exported} }};");
        }
        Module::declare(ctx.clone(), name, source)
    }

    /// A file of an extension.
    fn file<'js>(&self, ctx: &Ctx<'js>, path: &str) -> Result<Module<'js, Declared>> {
        let waits = self.waits(ctx, path);
        let known = self.seen.borrow_mut().remove(path);
        let unreadable = |error| Exception::throw_message(ctx, &format!("{path} cannot be read: {error}"));
        let (source, stripped) = if let Some((source, stripped)) = known {
            (source, Ok(stripped))
        } else {
            let source = self.source(path).map_err(unreadable)?;
            let stripped = strip(&source, Path::new(path));
            (source, stripped)
        };
        let stripped = stripped.map_err(|problem| {
            let (line, column) = (Some(problem.line), Some(problem.column));
            let message = format!("SyntaxError: {}", problem.message);
            let told = Problem { message, file: Some(path.to_owned()), line, column, stack: None };
            self.broken.borrow_mut().get_or_insert(told);
            Exception::throw_syntax(ctx, &format!("{} ({path}:{}:{})", problem.message, problem.line, problem.column))
        })?;
        let api = self.api(ctx)?;
        let prologue: String = api.get::<_, Function<'_>>("prologue")?.call((source.as_str(),))?;
        let mut imports: Vec<(String, Vec<String>)> = Vec::new();
        for (specifier, names) in stripped.imports {
            match imports.iter_mut().find(|(known, _)| *known == specifier) {
                Some((_, all)) => all.extend(names),
                None => imports.push((specifier, names)),
            }
        }
        for (specifier, names) in imports {
            self.stub(&api, path, &specifier, names)?;
        }
        self.places.borrow_mut().keep(path, stripped.lines);
        let mut code =
            format!("{prologue}{}", stripped.code.strip_prefix("#!").map_or(stripped.code.as_str(), behind_line));
        if waits && !stripped.waits {
            code.push_str(WAITS);
        }
        // It may stand in a text or a template; the engine takes sources as texts of C.
        let code = if code.contains('\0') { code.replace('\0', "\\u0000") } else { code };
        let module = Module::declare(ctx.clone(), path, code)?;
        let meta = module.meta()?;
        meta.set("url", address(path))?;
        meta.set("filename", path)?;
        meta.set("dirname", Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned()))?;
        Ok(module)
    }

    fn source(&self, path: &str) -> std::io::Result<String> {
        Ok(String::from_utf8_lossy(&files::read(&self.settings.policy, Path::new(path))?).into_owned())
    }

    /// Whether a file waits for something as it is evaluated, or what it imports does.
    fn waits(&self, ctx: &Ctx<'_>, path: &str) -> bool {
        if let Some(waits) = self.waiting.borrow().get(path) {
            return *waits;
        }
        // One that it imports may import it.
        self.waiting.borrow_mut().insert(path.to_owned(), false);
        // What cannot be read or is not found is told when it is loaded.
        let Ok(source) = self.source(path) else { return false };
        let Ok(stripped) = strip(&source, Path::new(path)) else { return false };
        let (mut waits, imports) = (stripped.waits, stripped.imports.clone());
        self.seen.borrow_mut().insert(path.to_owned(), (source, stripped));
        for (name, _) in imports {
            let Ok(found) = self.resolve(ctx, path, &name) else {
                drop(ctx.catch());
                continue;
            };
            waits |= found.starts_with('/') && self.waits(ctx, &found);
            // What the host serves is known without looking.
            if !found.starts_with(OWN) {
                self.found.borrow_mut().insert((path.to_owned(), name), found);
            }
        }
        self.waiting.borrow_mut().insert(path.to_owned(), waits);
        waits
    }

    /// Leads an import of names that a built-in module lacks to a module that has them as stubs.
    fn stub(&self, api: &Object<'_>, path: &str, specifier: &str, names: Vec<String>) -> Result<()> {
        let Some(file) = self.catalog.borrow().get(specifier).cloned() else { return Ok(()) };
        let names = Plain::List(names.into_iter().map(Plain::Text).collect());
        let missing: Vec<String> = api.get::<_, Function<'_>>("missingNames")?.call((file, names))?;
        let missing: Vec<String> = missing.into_iter().filter(|name| name != "default").collect();
        if missing.is_empty() {
            return Ok(());
        }
        let source: String = api.get::<_, Function<'_>>("stubModuleSource")?.call((specifier, missing))?;
        let mut stubs = self.stubs.borrow_mut();
        let name = format!("{STUB}{}", stubs.len());
        stubs.push(source);
        self.led.borrow_mut().insert((path.to_owned(), specifier.to_owned()), name);
        Ok(())
    }
}

/// The first line left out, which only the system reads.
fn behind_line(code: &str) -> &str {
    code.find('\n').and_then(|at| code.get(at..)).unwrap_or_default()
}

fn address(path: &str) -> String {
    let encoded = percent_encoding::utf8_percent_encode(path, ESCAPED);
    format!("file://{encoded}")
}

/// What `pathToFileURL` escapes.
const ESCAPED: &percent_encoding::AsciiSet = &percent_encoding::CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

fn source_of(path: &str) -> Result<&'static str> {
    assets::text(path).ok_or_else(|| Error::new_loading(path))
}

/// `name` as seen from the file `base`, both of the JavaScript side.
fn joined(base: &str, name: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The two hooks of the engine.
pub(super) struct Hooks(pub(super) Rc<Modules>);

impl Resolver for Hooks {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        self.0.resolve(ctx, base, name)
    }
}

impl Loader for Hooks {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        self.0.load(ctx, name)
    }
}
