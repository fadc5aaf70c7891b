/** The texts of a file of learned parameters: everything but the arrays. */
import {z} from 'zod'
import {PRESET_NAMES, PROJECTION_NAMES} from '../attention/names.js'
import {describe, expected, type RfaError} from '../errors.js'
import {layerName} from '../inputs/layers.js'
import {type HeldOut, LEARNED, LOSSES, type Tuned, type TunedLayer} from './types.js'

/** What files say that they are, and of which version. */
const FORMAT = 'rfa.tuned/1'

const count = z
  .string()
  .regex(/^[1-9]\d*$/)
  .transform(Number)
const positive = z.coerce.number().positive()
const error = z.coerce.number().nonnegative()

const options = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('no JSON')
      return z.NEVER
    }
  })
  .pipe(z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])))

/** Texts of the whole file, with what is expected of each. */
const FACTS = z.object({
  method: z.string().min(1).describe('the name of a method'),
  preset: z.enum(PRESET_NAMES).default('exact').describe('the name of a preset'),
  options: options.default({}).describe('a JSON object of options'),
  projection: z.enum(PROJECTION_NAMES).optional().describe('the name of a projection'),
  num_features: count.optional().describe('M, a positive integer'),
  causal: z
    .enum(['true', 'false'])
    .transform(text => text === 'true')
    .describe('true or false'),
  heads: count.describe('H, a positive integer'),
  key_heads: count.describe('Hkv, a positive integer'),
  head_dim: count.describe('D, a positive integer'),
  learned: z.enum(LEARNED).describe(`one of ${LEARNED.join('; ')}`),
  loss: z
    .enum(LOSSES)
    .default('outputs')
    .describe(`one of ${LOSSES.join('; ')}`),
  sequential: z
    .literal('true')
    .optional()
    .transform(text => text !== undefined)
    .describe('true'),
  seed: z.string().regex(/^\d+$/).transform(Number).default(0).describe('an integer from 0'),
  model: z.string().nullable().default(null).describe('the name of a model'),
})

/** Texts of a layer. */
const LAYER_FACTS = z.object({
  scale: positive.describe('a positive number, the factor on q.k'),
  held_out_before: error.optional().describe('an error, a number from 0'),
  held_out_after: error.optional().describe('an error, a number from 0'),
})

/** What a file says of its parameters. */
export type TunedFacts = Omit<Tuned, 'layers'>

/**
 * Reads the texts of a file.
 *
 * @throws {BAD_FILE} for a file of something else, of a version that is not read here, or with a text that cannot be read
 */
export function readFacts(path: string, metadata: Readonly<Record<string, string>>): TunedFacts {
  const {format} = metadata
  if (format !== FORMAT) throw otherFile(path, format)
  const {num_features, key_heads, head_dim, projection, ...facts} = parsed(FACTS, path, metadata)
  return {
    ...facts,
    projection: projection ?? null,
    numFeatures: num_features ?? null,
    keyHeads: key_heads,
    headDim: head_dim,
  }
}

/** The same of one layer. @throws {BAD_FILE} likewise */
export function readLayerFacts(
  path: string,
  metadata: Readonly<Record<string, string>>,
  layer: number | undefined,
): Pick<TunedLayer, 'layer' | 'scale' | 'heldOut'> {
  const nameOf = (name: string) => nameIn(layer, name)
  const own = Object.fromEntries(
    Object.keys(LAYER_FACTS.shape).map(name => [name, metadata[nameOf(name)]]),
  )
  const {
    scale,
    held_out_before: before,
    held_out_after: after,
  } = parsed(LAYER_FACTS, path, own, nameOf)
  const heldOut: HeldOut | null =
    before === undefined || after === undefined ? null : {before, after}
  return {layer, scale, heldOut}
}

/** The name of an array or a text of a layer. */
export function nameIn(layer: number | undefined, name: string): string {
  return layer === undefined ? name : layerName(layer, name)
}

/** The texts of a file. */
export function metadataOf(tuned: Tuned): Record<string, string> {
  const {method, preset, options, projection, numFeatures, causal, learned, seed, model} = tuned
  const {loss, sequential} = tuned
  const numbers = tuned.layers.flatMap(({layer}) => layer ?? [])
  const {heads, keyHeads, headDim, layers} = tuned
  return {
    format: FORMAT,
    ...{method, preset, options: JSON.stringify(options), causal: String(causal)},
    ...(projection !== null && {projection}),
    ...(numFeatures !== null && {num_features: String(numFeatures)}),
    ...{heads: String(heads), key_heads: String(keyHeads), head_dim: String(headDim)},
    ...{learned, seed: String(seed)},
    ...(loss !== 'outputs' && {loss}),
    ...(sequential && {sequential: 'true'}),
    ...(model !== null && {model}),
    ...(numbers.length > 0 && {layers: numbers.join(',')}),
    ...Object.assign({}, ...layers.map(layerTexts)),
  }
}

function layerTexts({layer, scale, heldOut}: TunedLayer): Record<string, string> {
  return {
    [nameIn(layer, 'scale')]: String(scale),
    ...(heldOut && {
      [nameIn(layer, 'held_out_before')]: String(heldOut.before),
      [nameIn(layer, 'held_out_after')]: String(heldOut.after),
    }),
  }
}

function otherFile(path: string, format: string | undefined): RfaError {
  const isNewer = format?.startsWith('rfa.tuned/')
  const got = format === undefined ? 'one without metadata format' : `format ${describe(format)}`
  const remedy = isNewer ? 'use the version of rfa that wrote it' : 'make one with rfa tune'
  return expected('BAD_FILE', path, `a file of rfa tune (metadata format ${FORMAT})`, got, remedy)
}

/** @param nameOf - name of a field in the file. Default: its own */
function parsed<Schema extends z.ZodObject>(
  schema: Schema,
  path: string,
  texts: Readonly<Record<string, string | undefined>>,
  nameOf = (name: string) => name,
): z.output<Schema> {
  const result = schema.safeParse(texts)
  if (result.success) return result.data
  const name = String(result.error.issues[0]!.path[0])
  const what = (schema.shape[name] as z.ZodType).description ?? 'a text'
  const text = texts[name]
  const got = text === undefined ? 'nothing' : describe(text)
  throw expected('BAD_FILE', `${path}, metadata ${nameOf(name)}`, what, got, 'tune again')
}
