//! TypeScript to JavaScript, with the way back from lines of the one to lines of the other.
//!
//! This is the only place that knows the parser. A file is read as it is; nothing is resolved and no type is checked.

use super::place::LineMap;
use oxc::allocator::Allocator;
use oxc::ast::ast::{ImportDeclarationSpecifier, Program, Statement};
use oxc::codegen::{Codegen, CodegenOptions, CodegenReturn};
use oxc::diagnostics::{OxcDiagnostic, Severity};
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::SourceType;
use oxc::transformer::{TransformOptions, Transformer};
use std::path::Path;

/// What a file became.
#[derive(Clone, Debug)]
pub struct Stripped {
    pub code: String,
    /// The names that it imports from each module, types left out.
    pub imports: Vec<(String, Vec<String>)>,
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
        return Ok(Stripped { code: source.to_owned(), imports: imports(&program), lines: None });
    }
    let semantic = SemanticBuilder::new().with_excess_capacity(2.0).with_enum_eval(true).build(&program);
    first_error(semantic.diagnostics.iter(), source)?;
    let scoping = semantic.semantic.into_scoping();
    let options = TransformOptions::default();
    let done = Transformer::new(&allocator, path, &options).build_with_scoping(scoping, &mut program);
    first_error(done.diagnostics.iter(), source)?;
    let imports = imports(&program);
    let options = CodegenOptions { source_map_path: Some(path.to_owned()), ..CodegenOptions::default() };
    let CodegenReturn { code, map, .. } = Codegen::new().with_options(options).build(&program);
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method's type is of a crate that is not named here"
    )]
    let tokens = map.iter().flat_map(|map| map.get_tokens());
    let places =
        tokens.map(|token| ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col())));
    let lines = Some(LineMap::new(places.collect()));
    Ok(Stripped { code, imports, lines })
}

fn is_plain_javascript(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ["js", "mjs", "cjs"].iter().any(|other| ending == *other))
}

fn imports(program: &Program<'_>) -> Vec<(String, Vec<String>)> {
    let declarations = program.body.iter().filter_map(|statement| {
        if let Statement::ImportDeclaration(declaration) = statement { Some(declaration) } else { None }
    });
    let value_of = |specifier: &ImportDeclarationSpecifier<'_>| {
        let ImportDeclarationSpecifier::ImportSpecifier(specifier) = specifier else { return None };
        (!specifier.import_kind.is_type()).then(|| specifier.imported.name().to_string())
    };
    let values = declarations.filter(|declaration| !declaration.import_kind.is_type());
    values
        .map(|declaration| {
            let names = declaration.specifiers.iter().flatten().filter_map(value_of).collect();
            (declaration.source.value.to_string(), names)
        })
        .collect()
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
    fn a_mistake_has_its_place() {
        let problem = strip("const a = 1;\nconst b = ;\n", Path::new("/x.ts")).unwrap_err();
        assert_eq!((problem.line, problem.column), (2, 11), "{problem:?}");
    }

    #[test]
    fn javascript_stays_as_it_is() {
        let source = "export default (pi)  =>  {}\n";
        assert_eq!(strip(source, Path::new("/x.js")).unwrap().code, source);
    }
}
