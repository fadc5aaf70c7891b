/**
 * The axes that experiments share: lists in plans, values in cells, options of attention.
 * An axis is named here, and by its flag in `src/cli/flags/shared.ts`.
 */
import {z} from 'zod'
import type {CallOptions} from '../attention/index.js'
import {
  CAUSAL_ALIGNS,
  type CausalAlign,
  ORTH_SIGNS,
  PRESET_NAMES,
  PROJECTION_NAMES,
  projectionNamed,
} from '../attention/names.js'
import type {CausalView} from '../causal-view.js'
import {expected} from '../errors.js'
import type {InputPart} from '../inputs/input-parts.js'
import type {LayerChoice} from '../inputs/layers.js'
import {layerFiles as filesOfLayer, type InputSpec, type LayerFiles} from '../inputs/spec.js'
import {pluginRecords} from '../plugins/record.js'
import {type TunedSpec, tunedSpec} from '../tuned/index.js'
import {distinct} from './cells.js'

/** One estimator with everything that changes its result, save the grid axes. */
export const methodSpec = z.object({
  method: z.string().describe('Estimator, as `--methods` takes it.'),
  preset: z.enum(PRESET_NAMES).describe('The release that it follows; `exact`: none.'),
  options: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('Options of this estimator that differ from its preset, by name.')
    .meta({flag: 'option'}),
  plugin: z
    .string()
    .optional()
    .describe('Digest of the plug-in that it comes from; absent: it is built in.'),
  tuned: tunedSpec
    .optional()
    .describe('Learned parameters that it runs with; absent: none.')
    .meta({flag: 'parameters'}),
})
export type MethodSpec = z.infer<typeof methodSpec>

/** A method as it is named, without options. */
export function plainSpec(method: string): MethodSpec {
  return {method, preset: 'exact', options: {}}
}

const methodSpecs = z.array(methodSpec).min(1).describe('Estimators with their options.')

/** What plans say of their estimators. */
export const methodAxes = {methods: methodSpecs, plugins: pluginRecords}

/** Whether queries see the past alone. */
export const causalField = z.boolean().describe('Query i sees the keys up to i only.')

/** Which tokens causal queries are where they are fewer than keys. */
export const causalAlignField = z
  .enum(CAUSAL_ALIGNS)
  .optional()
  .describe(
    'Which tokens causal queries are where they are fewer than keys: the first ones or the last ones; absent: they are not fewer.',
  )

/** Layers of a file, as plans list them. */
export const layerAxis = z
  .union([z.literal('all'), z.array(z.int().nonnegative()).min(1)])
  .optional()
  .describe(
    'Layers of a file with several, by number; `all` until the file is read; absent: the file has no numbered layers.',
  )
  .meta({flag: 'layer'})

/** Files of layers, as plans list them. */
export const layerFiles = z
  .array(filesOfLayer)
  .min(1)
  .optional()
  .describe(
    'Files of each layer, where layers lie in several files; found when the files are read.',
  )
  .meta({flag: 'input'})

export const layerPoint = z
  .int()
  .nonnegative()
  .optional()
  .describe('Layer of a file with several, by number; absent: the file has no numbered layers.')

interface InputAxes {
  input: InputSpec
  layers?: LayerChoice | undefined
  layer_files?: readonly LayerFiles[] | undefined
}

/** What cells of a plan read, in turn. @throws {BAD_OPTION} where a plan leaves its layers open */
export function inputParts({input, layers, layer_files}: InputAxes): InputPart[] {
  if (layer_files === undefined || input.kind !== 'file') {
    return layersOf(layers).map(layer => ({input, layer}))
  }
  const {kind, names} = input
  return layer_files.map(({layer, ...files}) => ({input: {kind, names, ...files}, layer}))
}

/**
 * The layers of a plan; one `undefined` for a file without numbers. @throws {BAD_OPTION} where a plan leaves them open
 */
function layersOf(layers: LayerChoice | undefined): (number | undefined)[] {
  if (layers === undefined) return [undefined]
  if (layers !== 'all') return distinct(layers)
  throw expected('BAD_OPTION', '`layers` of a plan', 'numbers, once its file is known', layers)
}

/** beta of plans and cells, absent at its ordinary value. */
export const logitScale = z
  .number()
  .positive()
  .optional()
  .describe('Factor on q.k, the scale of logits; absent: what the file says, else 1/sqrt(D).')
  .meta({flag: 'scale'})

/** Sizes of queries, keys and values, but for their lengths. */
export const sizeFields = {
  batch: z.int().positive().describe('B, sequences.'),
  heads: z.int().positive().describe('H, heads.'),
  head_dim: z.int().positive().describe('D, entries of a query or key.'),
  value_dim: z.int().positive().describe('Dv, entries of a value.'),
}

/** Length of phi in a result. */
export const featureDim = z.int().describe('F, length of phi; 0: the method has no features.')

/** Signs of orthogonal projections; records without it were made with uniform ones. */
const orthSign = z
  .enum(ORTH_SIGNS)
  .default('haar')
  .describe('Signs of orthogonal random matrices: uniform (`haar`), or as LAPACK leaves them.')
const projectionName = z.enum(PROJECTION_NAMES)

/** How matrices are drawn: a plan has one value of each, and so have its cells. */
export const drawSettings = {orth_sign: orthSign}
export type DrawSettings = z.output<typeof settings>

const settings = z.object(drawSettings)

/** Settings of a plan or a cell, or their defaults. */
export function drawSettingsOf(plan: z.input<typeof settings>): DrawSettings {
  return settings.parse(plan)
}

export const drawAxes = {
  projections: z.array(projectionName).min(1).describe('Random matrices [M, D] to draw.'),
  ...drawSettings,
  num_features: z.array(z.int().positive()).min(1).describe('M, numbers of random vectors.'),
}
type DrawAxes = z.output<z.ZodObject<typeof drawAxes>>

/** The draw of one cell; `null` where the method has no such axis. */
export const drawPoint = {
  projection: projectionName
    .nullable()
    .describe('Random matrix [M, D]; `null`: the method draws none.'),
  ...drawSettings,
  num_features: z
    .int()
    .nullable()
    .describe('M, number of random vectors; `null`: the method has none.'),
}
export type DrawPoint = z.output<z.ZodObject<typeof drawPoint>>

/** What decides which axes apply to a method. */
interface DrawingMethod {
  /** It takes a projection. */
  projected: boolean
  /** Whether numFeatures applies to such a call of it. */
  sized(call: {causal: boolean}): boolean
  /** Learned parameters, which are for one projection and one number of features. */
  tuned?: TunedSpec | undefined
}

/** Projections x numbers of features, without the axes that the method does not have. */
export interface DrawGrid {
  projections: readonly DrawPoint['projection'][]
  counts: readonly DrawPoint['num_features'][]
  /** Number of its points. */
  length: number
  /** A point by its place, numbers of features running fastest. */
  at(index: number): DrawPoint
}

export function drawGrid(
  {projected, sized, tuned}: DrawingMethod,
  plan: DrawAxes & {causal: boolean},
): DrawGrid {
  const projections = projected ? (tuned ? [tuned.projection] : distinct(plan.projections)) : [null]
  const counts = sized(plan) ? (tuned ? [tuned.num_features] : distinct(plan.num_features)) : [null]
  return {
    projections,
    counts,
    length: projections.length * counts.length,
    at(index) {
      const projection = projections[Math.floor(index / counts.length)]!
      return {
        projection,
        ...settingsFor(projection, plan),
        num_features: counts[index % counts.length]!,
      }
    },
  }
}

/** The settings of a matrix: those asked for, where they apply. */
function settingsFor(
  projection: DrawPoint['projection'],
  {orth_sign: sign}: DrawSettings,
): DrawSettings {
  const hasSigns = projection !== null && projectionNamed(projection).takesOrthSign
  return {orth_sign: hasSigns ? sign : 'haar'}
}

/** How a draw differs from the default. Tables and groups distinguish draws by it. */
export function drawMarks({projection, orth_sign}: Omit<DrawPoint, 'num_features'>): string[] {
  return projection !== null && orth_sign === 'raw' ? ['raw signs'] : []
}

/** The draw of a cell, as attention takes it. @param replicate - index of the draw */
export function drawOf({seed, orth_sign}: DrawSettings & {seed: number}, replicate = 0) {
  return {seed, replicate, orthSign: orth_sign}
}

/** How causal a cell is, as the functions of attention take it. */
export function viewOf({causal, causal_align: causalAlign}: ViewPoint): CausalView {
  return {causal, ...(causalAlign && {causalAlign})}
}

/** Of cells and plans. */
interface ViewPoint {
  causal: boolean
  causal_align?: CausalAlign | undefined
}

type CallingCell = MethodSpec & DrawPoint & ViewPoint & {seed: number}

/** The options of attention that a cell stands for. @param replicate - index of the draw */
export function attendOptions(
  cell: CallingCell,
  replicate = 0,
): {method: string} & CallOptions & Record<string, unknown> {
  const {method, preset, options, projection, num_features} = cell
  return {
    ...options,
    method,
    preset,
    ...viewOf(cell),
    ...drawOf(cell, replicate),
    ...(projection !== null && {projection}),
    ...(num_features !== null && {numFeatures: num_features}),
  }
}
