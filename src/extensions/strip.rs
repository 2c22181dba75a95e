//! TypeScript to JavaScript, with the way back from lines of the one to lines of the other.
//!
//! This is the only place that knows the parser. A file is read as it is; nothing is resolved and no type is checked.

use super::place::LineMap;
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ArrowFunctionExpression, AwaitExpression, Declaration, ExportSpecifier, ForOfStatement, Function,
    ImportDeclarationSpecifier, Program, Statement,
};
use oxc::ast_visit::{Visit, walk};
use oxc::codegen::{Codegen, CodegenOptions, CodegenReturn};
use oxc::diagnostics::{OxcDiagnostic, Severity};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::syntax::scope::ScopeFlags;
use oxc::transformer::{TransformOptions, Transformer};
use std::fmt::Write as _;
use std::path::Path;

/// What a file became.
#[derive(Clone, Debug)]
pub struct Stripped {
    pub code: String,
    /// The names that it imports from each module, types left out.
    pub imports: Vec<(String, Vec<String>)>,
    /// Whether it waits for something at its top level.
    pub(super) waits: bool,
    /// From places in `code` to places in the source; none where they are the same.
    pub(super) lines: Option<LineMap>,
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxProblem {
    pub message: String,
    /// Counted from 1.
    pub line: u32,
    pub column: u32,
}

/// Removes types from `source`, and transforms what of TypeScript is more than types. The ending of `path` says what it is.
///
/// # Errors
/// [`SyntaxProblem`] for the first mistake.
pub fn strip(source: &str, path: &Path) -> Result<Stripped, SyntaxProblem> {
    let kind = SourceType::from_path(path).unwrap_or_else(|_| SourceType::mjs()).with_module(true);
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, kind).parse();
    first_error(parsed.diagnostics.iter(), source)?;
    let mut program = parsed.program;
    if !kind.is_typescript() && !kind.is_jsx() || is_plain_javascript(path) {
        let (imports, waits) = (imports(&program), waits(&program));
        return Ok(Stripped { code: source.to_owned(), imports, waits, lines: None });
    }
    let types = exported_types(&program);
    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    first_error(semantic.diagnostics.iter(), source)?;
    let scoping = semantic.semantic.into_scoping();
    let options = TransformOptions::default();
    let done = Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    first_error(done.diagnostics.iter(), source)?;
    let (imports, waits) = (imports(&program), waits(&program));
    let options = CodegenOptions { source_map_path: Some(path.to_owned()), ..CodegenOptions::default() };
    let CodegenReturn { mut code, map, .. } = Codegen::new().with_options(options).build(&program);
    if !types.is_empty() {
        let names = types.iter().map(|name| format!("__levainType as {name}")).collect::<Vec<_>>().join(", ");
        let _infallible = write!(code, "\nconst __levainType = undefined;\nexport {{ {names} }};\n");
    }
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method's type is of a crate that is not named here"
    )]
    let tokens = map.iter().flat_map(|map| map.get_tokens());
    let places =
        tokens.map(|token| ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col())));
    let lines = Some(LineMap::new(places.collect()));
    Ok(Stripped { code, imports, waits, lines })
}

fn is_plain_javascript(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["js", "mjs", "cjs"].iter().any(|other| ending == *other))
}

/// Names under which a file exports types and nothing else. Whoever hands a name on need not know that it is a type's, so they are
/// there at run time, too, without a value.
fn exported_types(program: &Program<'_>) -> Vec<String> {
    let (mut types, mut values) = (Vec::new(), Vec::new());
    // One of those may export a value of that name, which would be hidden.
    let exports_all = program.body.iter().any(|statement| matches!(statement, Statement::ExportAllDeclaration(_)));
    let mut sort = |specifiers: &[ExportSpecifier<'_>], all_types: bool| {
        for specifier in specifiers {
            let is_type = all_types || specifier.export_kind.is_type();
            let list = if is_type { &mut types } else { &mut values };
            if !(is_type && exports_all) {
                list.push(specifier.exported.name().to_string());
            }
        }
    };
    for statement in &program.body {
        if let Statement::ExportNamedDeclaration(named) = statement {
            sort(&named.specifiers, named.export_kind.is_type());
        } else if let Statement::ExportFromDeclaration(from) = statement {
            sort(&from.specifiers, from.export_kind.is_type());
        }
    }
    for statement in &program.body {
        let Statement::ExportDeclaration(exported) = statement else { continue };
        if let Declaration::TSTypeAliasDeclaration(alias) = &exported.declaration {
            types.push(alias.id.name.to_string());
        } else if let Declaration::TSInterfaceDeclaration(interface) = &exported.declaration {
            types.push(interface.id.name.to_string());
        } else if let Declaration::VariableDeclaration(variables) = &exported.declaration {
            let names = variables.declarations.iter().flat_map(|one| one.id.get_binding_identifiers());
            values.extend(names.map(|name| name.name.to_string()));
        } else {
            values.extend(exported.declaration.id().map(|name| name.name.to_string()));
        }
    }
    types.sort();
    types.dedup();
    let is_name = |name: &String| name != "default" && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c));
    types.retain(|name| is_name(name) && !values.contains(name));
    types
}

/// The names that are imported from each module, also to hand them on.
fn imports(program: &Program<'_>) -> Vec<(String, Vec<String>)> {
    let value_of = |specifier: &ImportDeclarationSpecifier<'_>| {
        let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier else { return None };
        (!specifier.import_kind.is_type()).then(|| specifier.imported.name().to_string())
    };
    let handed_on = |specifier: &ExportSpecifier<'_>| {
        (!specifier.export_kind.is_type()).then(|| specifier.local.name().to_string())
    };
    let of = |statement: &Statement<'_>| {
        if let Statement::ImportDeclaration(declaration) = statement {
            let names = || declaration.specifiers.iter().flatten().filter_map(value_of).collect();
            (!declaration.import_kind.is_type()).then(|| (declaration.source.value.to_string(), names()))
        } else if let Statement::ExportFromDeclaration(declaration) = statement {
            let names = || declaration.specifiers.iter().filter_map(handed_on).collect();
            (!declaration.export_kind.is_type()).then(|| (declaration.source.value.to_string(), names()))
        } else if let Statement::ExportAllDeclaration(declaration) = statement {
            (!declaration.export_kind.is_type()).then(|| (declaration.source.value.to_string(), Vec::new()))
        } else {
            None
        }
    };
    program.body.iter().filter_map(of).collect()
}

/// Whether a module waits for something outside of functions.
fn waits(program: &Program<'_>) -> bool {
    struct Waits(bool);
    impl<'a> Visit<'a> for Waits {
        fn visit_await_expression(&mut self, _: &AwaitExpression<'a>) {
            self.0 = true;
        }
        fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
            self.0 |= statement.r#await;
            walk::walk_for_of_statement(self, statement);
        }
        fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}
        fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}
    }
    let mut found = Waits(false);
    found.visit_program(program);
    found.0
}

fn first_error<'a>(problems: impl Iterator<Item = &'a OxcDiagnostic>, source: &str) -> Result<(), SyntaxProblem> {
    let Some(problem) = problems.into_iter().find(|problem| problem.severity == Severity::Error) else {
        return Ok(());
    };
    let offset = problem.labels.first().map_or(0, |label| label.offset() as usize);
    let before = source.get(..offset.min(source.len())).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Err(SyntaxProblem { message: problem.message.to_string(), line: number(line), column: number(column) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> String {
        strip(source, Path::new("/x.ts")).unwrap().code
    }

    #[test]
    fn types_and_imports_of_types_go() {
        let source =
            "import type { A } from \"a\";\nimport { B, c } from \"b\";\nconst x: B = c as B;\nexport default x;\n";
        let stripped = strip(source, Path::new("/x.ts")).unwrap();
        assert_eq!(stripped.imports, [("b".to_owned(), vec!["c".to_owned()])]);
        assert!(!stripped.code.contains(": B") && !stripped.code.contains("\"a\""), "{}", stripped.code);
    }

    #[test]
    fn what_is_more_than_types_is_transformed() {
        let made = code("class A { constructor(private readonly b: number) {} }\nenum C { D = 1 }\nexport { A, C };\n");
        assert!(made.contains("this.b = b") && !made.contains("enum"), "{made}");
    }

    #[test]
    fn types_that_are_exported_have_no_value() {
        let made = code(
            "export interface A {}\nexport type B = 1;\nexport type { C } from \"c\";\nexport { type D, e } from \"d\";\nexport type F = 2;\nexport const F = 2, { g } = f;\n",
        );
        assert!(
            made.ends_with("export { __levainType as A, __levainType as B, __levainType as C, __levainType as D };\n"),
            "{made}"
        );
        assert!(!code("export const a = 1; type B = 1;").contains("__levainType"));
        assert!(!code("export * from \"m\"; export type { B } from \"m\";").contains("__levainType"));
        let stripped = strip("export { a, type B } from \"m\";", Path::new("/x.ts")).unwrap();
        assert_eq!(stripped.imports, [("m".to_owned(), vec!["a".to_owned()])]);
    }

    #[test]
    fn a_mistake_has_its_place() {
        let problem = strip("const a = 1;\nconst b = ;\n", Path::new("/x.ts")).unwrap_err();
        assert_eq!((problem.line, problem.column), (2, 11), "{problem:?}");
    }

    #[test]
    fn what_a_module_waits_for_is_outside_of_functions() {
        let waits = |source: &str| strip(source, Path::new("/x.js")).unwrap().waits;
        assert!(waits("const a = await b;") && waits("if (a) { for await (const b of c); }"));
        assert!(!waits(
            "const a = async () => await b; class C { async d() { await e; } } async function f() { await g; }"
        ));
    }

    #[test]
    fn javascript_stays_as_it_is() {
        let source = "export default (pi)  =>  {}\n";
        assert_eq!(strip(source, Path::new("/x.js")).unwrap().code, source);
    }
}
