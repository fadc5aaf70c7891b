/** Weights that the model of a folder has and a forward pass here would not read: with them it is another model. */
import {describe, expected} from '../errors.js'
import type {Weights} from './weights.js'

/** What to do about a model that does not run here. */
export const EXPORT =
  'export its queries, keys and values with python/rfa_export.py, and run `rfa apply`'

/** What is known of the names of an architecture's weights, without their prefix. */
export interface WeightNames {
  /** May stand before all names, with its dot. */
  prefix: string
  /** Names of the model itself; others are of a task's own layers behind it. */
  own: RegExp
  /** Its layers, with their numbers. */
  layer: RegExp
  /** What does not change what the model computes: buffers, and layers behind the last hidden states. */
  harmless: RegExp
  /** Fields of a configuration that say whether matrices have biases. */
  switches?: readonly string[]
}

/**
 * Holds the number of layers of a configuration against what is stored, before anything is made of each.
 *
 * @throws {ARRAY_MISSING} where the weights have fewer
 */
export function requireLayers(
  folder: string,
  {prefix, layer}: WeightNames,
  weights: Weights,
  layers: number,
): void {
  const numbers = weights.names().map(name => layer.exec(bare(name, prefix))?.[1])
  const stored = new Set(numbers.filter(number => number !== undefined)).size
  if (layers <= stored) return
  const what = `weights of ${layers} layers, as config.json says`
  const remedy = 'write both with `model.save_pretrained(FOLDER)` of Transformers'
  throw expected('ARRAY_MISSING', folder, what, `those of ${stored}`, remedy)
}

/**
 * @param read - names, as stored, of what is read
 * @throws {UNSUPPORTED} for weights of the model that are not
 */
export function refuseUnread(
  folder: string,
  {prefix, own, harmless, switches}: WeightNames,
  weights: Weights,
  read: ReadonlySet<string>,
): void {
  const unread = weights.names().filter(name => {
    const inner = bare(name, prefix)
    const belongs = name.startsWith(prefix) || own.test(inner)
    return !read.has(name) && belongs && !harmless.test(inner)
  })
  const [first] = unread
  if (first === undefined) return
  const rest = unread.length > 1 ? ` and ${unread.length - 1} more` : ''
  const got = `${describe(first)}${rest}, which a model of this kind does not have`
  const fields = switches?.map(name => `\`${name}\``).join(' or ')
  const biased = fields && unread.every(name => /_proj\.bias$/.test(name))
  const say = biased ? [`if the model has such biases, say so in config.json: ${fields}`] : []
  throw expected('UNSUPPORTED', folder, 'weights that config.json speaks of', got, ...say, EXPORT)
}

function bare(name: string, prefix: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}
