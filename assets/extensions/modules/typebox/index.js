// @sinclair/typebox: Type, its members by name, and stubs for the library's inner parts.
//
// The exported names shadow the built-ins of the same name, so nothing but the lists belongs in here.

import { Hint, Kind, OptionalKind, ReadonlyKind, TransformKind, makeType } from "./builder.js";
import { withStubs } from "../stubs.js";

export const Type = withStubs("@sinclair/typebox", makeType(false));
export const {
  Any, Argument, Array, AsyncIterator, Awaited, BigInt, Boolean, Capitalize, Clone, CloneRest, CloneType, Composite, Const, Constructor,
  ConstructorParameters, CreateType, Date, Enum, Exclude, ExcludeFromMappedResult, ExcludeFromTemplateLiteral, Extends, ExtendsCheck,
  ExtendsFromMappedKey, ExtendsFromMappedResult, ExtendsResolverError, ExtendsResult, ExtendsUndefinedCheck, Extract,
  ExtractFromMappedResult, ExtractFromTemplateLiteral, FormatRegistry, FromTypes, Function, Increment, Index, IndexFromComputed,
  IndexFromMappedKey, IndexFromMappedResult, IndexFromPropertyKey, IndexFromPropertyKeys, IndexPropertyKeys, InstanceType, Instantiate,
  Integer, Intersect, IntersectEvaluated, Intrinsic, IntrinsicFromMappedKey, IsTemplateLiteralExpressionFinite, IsTemplateLiteralFinite,
  Iterator, JavaScriptTypeBuilder, JsonTypeBuilder, KeyOf, KeyOfFromMappedResult, KeyOfPattern, KeyOfPropertyEntries, KeyOfPropertyKeys,
  KeyOfPropertyKeysToRest, KindGuard, Literal, Lowercase, Mapped, MappedFunctionReturnType, MappedKey, MappedResult, Module, Never, Not,
  Null, Number, Object, Omit, OmitFromMappedKey, OmitFromMappedResult, Optional, OptionalFromMappedResult, Parameters, Partial,
  PartialFromMappedResult, PatternBoolean, PatternBooleanExact, PatternNever, PatternNeverExact, PatternNumber, PatternNumberExact,
  PatternString, PatternStringExact, Pick, PickFromMappedKey, PickFromMappedResult, Promise, Readonly, ReadonlyFromMappedResult,
  ReadonlyOptional, Record, RecordKey, RecordPattern, RecordValue, Recursive, Ref, RegExp, Required, RequiredFromMappedResult, Rest,
  ReturnType, SetComplement, SetDistinct, SetIncludes, SetIntersect, SetIntersectMany, SetIsSubset, SetUnion, SetUnionMany, String, Symbol,
  TModule, TemplateLiteral, TemplateLiteralExpressionGenerate, TemplateLiteralFiniteError, TemplateLiteralGenerate,
  TemplateLiteralGenerateError, TemplateLiteralParse, TemplateLiteralParseExact, TemplateLiteralParserError, TemplateLiteralPattern,
  TemplateLiteralPatternError, TemplateLiteralSyntax, TemplateLiteralToUnion, Transform, TransformDecodeBuilder, TransformEncodeBuilder,
  Tuple, TypeBoxError, TypeGuard, TypeRegistry, Uint8Array, Uncapitalize, Undefined, Union, UnionEvaluated, Unknown, Unsafe, Uppercase,
  ValueGuard, Void,
} = Type;
export { Hint, Kind, OptionalKind, ReadonlyKind, TransformKind };
export default Type;
