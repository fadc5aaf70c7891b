/** What the operations that form features take; see checks.ts. */
import {describe, expected, unknownName} from '../../errors.js'
import {checkElements, checkFlag, checkNumber, checkObject} from '../check-tensor.js'
import {type AttentionSizes, checkArray, checkNeeded, fourAxes, type Inputs} from './checks.js'
import {checkGuard, type Guard} from './guard.js'
import type {FeatureRecipe, RecipeAttributes} from './recipe.js'

/** Kinds of features: whether they have a projection, whether they are logarithms, and F. */
const KINDS: Record<
  FeatureRecipe['kind'],
  {projected: boolean; logarithms: boolean; featureDim(columns: number, rows: number): number}
> = {
  explicit: {projected: false, logarithms: false, featureDim: columns => columns},
  'elu-plus-one': {projected: false, logarithms: false, featureDim: columns => columns},
  trigonometric: {projected: true, logarithms: false, featureDim: (_, rows) => 2 * rows},
  relu: {projected: true, logarithms: false, featureDim: (_, rows) => rows},
  'log-positive': {projected: true, logarithms: true, featureDim: (_, rows) => rows},
  'log-hyperbolic': {projected: true, logarithms: true, featureDim: (_, rows) => 2 * rows},
}

/** Which features an operation reads: sums need features, sums relative to a maximum their logarithms. */
export type FeatureUse = 'features' | 'logarithms' | 'any'

/**
 * Refuses a recipe that says what no form of an operation does.
 *
 * @throws {UNKNOWN_NAME} for an unknown kind
 * @throws {UNSUPPORTED} for a kind that the operation does not read, or a factor that the kind does not have
 * @throws {BAD_OPTION} for a value of the wrong type
 */
export function checkRecipe(where: string, recipe: RecipeAttributes, use: FeatureUse): void {
  checkObject(where, recipe)
  const {kind, inputScale, unitNorm, normEpsilon, featureScale} = recipe
  if (!Object.hasOwn(KINDS, kind)) {
    throw unknownName(`${where}.kind`, 'kinds', String(kind), Object.keys(KINDS))
  }
  const {logarithms} = KINDS[kind]
  if (use !== 'any' && kind !== 'explicit' && logarithms !== (use === 'logarithms')) {
    const what = use === 'features' ? 'features' : 'logarithms of features'
    throw expected('UNSUPPORTED', where, what, kind)
  }
  for (const [name, number] of Object.entries({inputScale, normEpsilon, featureScale})) {
    if (number !== undefined) checkNumber(`${where}.${name}`, number)
  }
  if (unitNorm !== undefined) checkFlag(`${where}.unitNorm`, unitNorm)
  if (normEpsilon !== undefined && normEpsilon < 0) {
    throw expected('BAD_OPTION', `${where}.normEpsilon`, 'a number of at least 0', `${normEpsilon}`)
  }
  const readyLogs = kind === 'explicit' && use === 'logarithms'
  if ((logarithms || readyLogs) && featureScale !== undefined && featureScale !== 1) {
    throw expected('UNSUPPORTED', where, 'no featureScale for logarithms', `${featureScale}`)
  }
  const mapped = (inputScale ?? 1) !== 1 || unitNorm === true || (normEpsilon ?? 0) !== 0
  if (kind === 'explicit' && mapped) {
    throw expected('UNSUPPORTED', where, 'explicit features as they are', 'a map of their inputs')
  }
}

/**
 * Checks tokens with their recipe and projection.
 *
 * @param sizes - B, H and n, and the columns where they are known
 * @returns D, the columns of the tokens, and F
 */
function checkSide(
  {where, use}: {where: string; use: FeatureUse},
  name: string,
  recipe: RecipeAttributes,
  inputs: Inputs,
): {shape: [number, number, number, number]; featureDim: number} {
  const shape = fourAxes(where, inputs, name)
  checkRecipe(`${where}.${name}`, recipe, use)
  const [, heads, , headDim] = shape
  const from = name === 'x' ? 'projection' : `${name}Projection`
  const rows = checkProjection(where, recipe, inputs, from, {heads, headDim})
  return {shape, featureDim: KINDS[recipe.kind].featureDim(headDim, rows)}
}

/** @returns M, 0 for kinds without a projection */
function checkProjection(
  where: string,
  {kind}: RecipeAttributes,
  inputs: Inputs,
  name: string,
  {heads, headDim}: {heads: number; headDim: number},
): number {
  const projection = inputs[name]
  if (!KINDS[kind].projected) {
    if (!projection) return 0
    const got = describe(projection.shape ?? projection)
    throw expected('UNSUPPORTED', where, `no ${name} for the kind ${kind}`, got)
  }
  if (!projection) {
    throw expected('BAD_OPTION', where, `a ${name} for the kind ${kind}`, 'none')
  }
  checkElements(`${where}.${name}`, projection)
  const {shape} = projection
  const rows = shape.at(-2) ?? 0
  const fits = rows > 0 && (shape.length === 2 || (shape.length === 3 && shape[0] === heads))
  if (!fits || shape.at(-1) !== headDim) {
    const wanted = `${name} [M, ${headDim}] or [${heads}, M, ${headDim}]`
    throw expected('SHAPE_MISMATCH', where, wanted, describe(shape))
  }
  return rows
}

/** What `featureMap` takes. @returns `[B, H, n, D]` and F */
export function featureMapSizes(inputs: Inputs, recipe: RecipeAttributes) {
  const sizes = checkSide({where: 'FeatureMap', use: 'any'}, 'x', recipe, inputs)
  if (KINDS[recipe.kind].projected) return sizes
  throw expected('UNSUPPORTED', 'FeatureMap.kind', 'a kind with a projection', recipe.kind)
}

/** What the gradient of `featureMap` takes: what that does, and slopes of the features. @returns as {@link featureMapSizes} */
export function featureMapGradientSizes({slopes, ...own}: Inputs, recipe: RecipeAttributes) {
  const sizes = featureMapSizes(own, recipe)
  const [batch, heads, length] = sizes.shape
  const where = 'FeatureMapGradient'
  checkNeeded(where, {slopes}, 'slopes', [batch, heads, length, sizes.featureDim])
  return sizes
}

/** Recipes of both sides. */
export interface SideAttributes {
  query: RecipeAttributes
  key: RecipeAttributes
}

/** Sizes of attention with features; `headDim` is the width of the tokens of both sides. */
export interface FeatureAttentionSizes extends AttentionSizes {
  featureDim: number
}

/**
 * What attention with features takes.
 *
 * @throws {SHAPE_MISMATCH} for sides of different widths or numbers of features, among others
 */
function featureAttentionSizes(
  where: string,
  inputs: Inputs,
  recipes: SideAttributes,
  use: FeatureUse,
): FeatureAttentionSizes {
  const query = checkSide({where, use}, 'query', recipes.query, inputs)
  const key = checkSide({where, use}, 'key', recipes.key, inputs)
  const [, , , valueDim] = fourAxes(where, inputs, 'value')
  const [batch, heads, queryLen, headDim] = query.shape
  const [, , keyLen, keyDim] = key.shape
  checkArray(where, inputs, 'key', [batch, heads, keyLen, keyDim])
  checkArray(where, inputs, 'value', [batch, heads, keyLen, valueDim])
  checkArray(where, inputs, 'keyMask', [batch, keyLen], {mask: true})
  if (headDim !== keyDim || query.featureDim !== key.featureDim) {
    const what = `keys of ${headDim} columns and ${query.featureDim} features, as queries have`
    const got = `${describe(key.shape)} with ${key.featureDim} features`
    throw expected('SHAPE_MISMATCH', where, what, got)
  }
  const {featureDim} = query
  return {batch, heads, queryLen, keyLen, headDim, valueDim, featureDim}
}

export function causalFeatureAttentionSizes(inputs: Inputs, recipes: SideAttributes) {
  return featureAttentionSizes('CausalFeatureAttention', inputs, recipes, 'logarithms')
}

/** Inputs of `causalFeatureAttention` that have gradients, in the order in which those are given. */
export const CAUSAL_GRADIENTS = [
  'query',
  'key',
  'value',
  'queryProjection',
  'keyProjection',
] as const

/** What the gradient of `causalFeatureAttention` takes: what that does, its output, and the slopes of that. */
export function causalFeatureGradientSizes(
  {out, slopes, ...own}: Inputs,
  recipes: SideAttributes,
): FeatureAttentionSizes {
  const where = 'CausalFeatureGradient'
  const sizes = causalFeatureAttentionSizes(own, recipes)
  const {batch, heads, queryLen, valueDim} = sizes
  for (const name of ['out', 'slopes']) {
    checkNeeded(where, {out, slopes}, name, [batch, heads, queryLen, valueDim])
  }
  return sizes
}

/** Attributes of `linearAttention` other than the recipes. */
export interface LinearAttributes extends SideAttributes {
  causal: boolean
  /** Divide by the denominator under this guard; absent: give numerator and denominator. */
  guard?: Guard
}

export function linearAttentionSizes(
  inputs: Inputs,
  {causal, guard, ...recipes}: LinearAttributes,
): FeatureAttentionSizes {
  const where = 'LinearAttention'
  checkFlag(`${where}.causal`, causal)
  if (guard !== undefined) checkGuard(guard)
  const sizes = featureAttentionSizes(where, inputs, recipes, 'features')
  const {batch, heads, keyLen, valueDim, featureDim} = sizes
  checkArray(where, inputs, 'keyLogWeight', [batch, heads, keyLen])
  checkArray(where, inputs, 'logGate', [batch, heads, keyLen])
  checkArray(where, inputs, 'initialState', [batch, heads, featureDim, valueDim])
  checkArray(where, inputs, 'initialNormalizer', [batch, heads, featureDim])
  checkCarried(inputs, causal)
  return sizes
}

/** Inputs of `linearAttention` that have gradients, in the order in which those are given. */
export const LINEAR_GRADIENTS = [
  ...['query', 'key', 'value', 'queryProjection', 'keyProjection', 'keyLogWeight', 'logGate'],
  ...['initialState', 'initialNormalizer'],
] as const

/** What the gradient of `linearAttention` takes: what that does, both outputs where it divides, and slopes of both. */
export function linearAttentionGradientSizes(
  {slopes, denominatorSlopes, out, denominator, ...own}: Inputs,
  attributes: LinearAttributes,
): FeatureAttentionSizes {
  const where = 'LinearAttentionGradient'
  const sizes = linearAttentionSizes(own, attributes)
  const {batch, heads, queryLen, valueDim} = sizes
  const needed = {slopes, denominatorSlopes, ...(attributes.guard && {out, denominator})}
  for (const name of Object.keys(needed)) {
    const columns = name.startsWith('denominator') ? [] : [valueDim]
    checkNeeded(where, needed, name, [batch, heads, queryLen, ...columns])
  }
  return sizes
}

/** Gates and carried sums belong to the causal form, and sums are carried without weights of keys. */
function checkCarried(
  {logGate, initialState, initialNormalizer, keyLogWeight}: Inputs,
  causal: boolean,
) {
  const where = 'LinearAttention'
  if (!initialState !== !initialNormalizer) {
    const got = initialState ? 'the sums alone' : 'the normalizer alone'
    throw expected('SHAPE_MISMATCH', where, 'an initial state of sums and normalizer', got)
  }
  if (!causal && (logGate || initialState)) {
    const got = logGate ? 'logGate' : 'initialState'
    const what = 'causal: true with gates or an initial state'
    throw expected('UNSUPPORTED', where, what, `${got} without it`)
  }
  if (initialState && keyLogWeight) {
    throw expected('UNSUPPORTED', where, 'an initial state without keyLogWeight', 'both')
  }
}

/** F of tokens with these columns. @param rows - M */
export function featureDimOf({kind}: RecipeAttributes, columns: number, rows: number): number {
  return KINDS[kind].featureDim(columns, rows)
}
