// Types of `typebox` and `@sinclair/typebox` as far as tool schemas need them.

declare const optional: unique symbol;

/** A JSON Schema that stands for the TypeScript type `T`. */
export interface TSchema {
  [key: string]: unknown;
  readonly static?: any;
}
export interface Typed<T> extends TSchema {
  readonly static?: T;
}
export interface TOptional<T extends TSchema> extends TSchema {
  readonly [optional]: true;
  readonly static?: Static<T>;
}
type Flatten<T> = { [K in keyof T]: T[K] };
type OptionalKeys<P> = { [K in keyof P]: P[K] extends { readonly [optional]: true } ? K : never }[keyof P];
type ObjectOf<P extends Record<string, TSchema>> = Flatten<
  { [K in Exclude<keyof P, OptionalKeys<P>>]: Static<P[K]> } & { [K in OptionalKeys<P>]?: Static<P[K]> }
>;
export interface TObject<P extends Record<string, TSchema> = Record<string, TSchema>> extends Typed<ObjectOf<P>> {
  properties: P;
  required?: string[];
}
export type TString = Typed<string>;
export type TNumber = Typed<number>;
export type TBoolean = Typed<boolean>;
export interface TArray<T extends TSchema = TSchema> extends Typed<Static<T>[]> {
  items: T;
}
export type TUnsafe<T> = Typed<T>;

/** The TypeScript type of a schema: `type Params = Static<typeof parameters>`. */
export type Static<T> = T extends { readonly static?: infer S } ? S : any;

export interface SchemaOptions {
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  [key: string]: unknown;
}

export interface TypeBuilder {
  String(options?: SchemaOptions): TString;
  Number(options?: SchemaOptions): TNumber;
  Integer(options?: SchemaOptions): TNumber;
  Boolean(options?: SchemaOptions): TBoolean;
  Null(options?: SchemaOptions): Typed<null>;
  Any(options?: SchemaOptions): Typed<any>;
  Unknown(options?: SchemaOptions): Typed<unknown>;
  Never(options?: SchemaOptions): Typed<never>;
  Literal<const V extends string | number | boolean>(value: V, options?: SchemaOptions): Typed<V>;
  Array<T extends TSchema>(items: T, options?: SchemaOptions): TArray<T>;
  Tuple<const T extends readonly TSchema[]>(items: T, options?: SchemaOptions): Typed<{ -readonly [K in keyof T]: Static<T[K]> }>;
  Object<P extends Record<string, TSchema>>(properties: P, options?: SchemaOptions): TObject<P>;
  Record<V extends TSchema>(key: TSchema, value: V, options?: SchemaOptions): Typed<Record<string, Static<V>>>;
  Union<T extends TSchema[]>(members: [...T], options?: SchemaOptions): Typed<Static<T[number]>>;
  Intersect(members: TSchema[], options?: SchemaOptions): Typed<any>;
  Composite(members: TSchema[], options?: SchemaOptions): Typed<any>;
  Enum<T extends Record<string, string | number>>(items: T, options?: SchemaOptions): Typed<T[keyof T]>;
  Optional<T extends TSchema>(schema: T): TOptional<T>;
  Readonly<T extends TSchema>(schema: T): T;
  Partial<P extends Record<string, TSchema>>(schema: TObject<P>, options?: SchemaOptions): Typed<Partial<ObjectOf<P>>>;
  Pick<P extends Record<string, TSchema>, K extends keyof P>(schema: TObject<P>, keys: K[], options?: SchemaOptions): TObject<Pick<P, K>>;
  Omit<P extends Record<string, TSchema>, K extends keyof P>(schema: TObject<P>, keys: K[], options?: SchemaOptions): TObject<Omit<P, K>>;
  KeyOf(schema: TObject, options?: SchemaOptions): TString;
  Ref(target: string | TSchema, options?: SchemaOptions): Typed<any>;
  Unsafe<T>(schema?: SchemaOptions): TUnsafe<T>;
  Recursive(make: (self: TSchema) => TSchema, options?: SchemaOptions): Typed<any>;
}
export declare const Type: TypeBuilder;
export default Type;
