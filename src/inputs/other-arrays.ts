/**
 * Arrays of a file beside queries, keys and values. Those whose names say that they change what attention computes are taken where
 * their meaning is settled, and refused otherwise: to pass them over would compute something else than the model. The others are named.
 */
import {basename} from 'node:path'
import {describe, expected, shownName} from '../errors.js'
import {
  filesOf,
  type InputFiles,
  maskPlaceOf,
  type OneFile,
  optionalPlaceOf,
  ROLES,
  textsOf,
  withFiles,
} from './input-files.js'
import {OTHER_MASKS} from './key-mask.js'
import {layerOf} from './layers.js'
import type {StatedOverrides} from './metadata.js'
import {outputPlacesOf} from './output-projection.js'
import type {InputSpec} from './spec.js'

/** The factor on q.k. */
const SCALE = /^((q_?k|softmax|sm|attn|attention|logits?)_?)?scal(e|ing)(_?factor)?$/i
/** A factor of something, in one or the other direction. */
const FACTOR = /scal(e|ing)|temperature/i
const CAUSAL = /^(is_?)?causal$/i
const MASK = /mask/i
const BIAS = /bias|alibi|sinks?(_|$)|soft_?cap/i
/** Of a linear layer before or after attention. */
const LINEAR_BIAS = /^(q|k|v|o|query|key|value|out|output)(_?proj)?[._]?bias$/i

/** An array of a file by what it is called within a layer. */
interface Named {
  /** As it stands in the file. */
  full: string
  name: string
}

/** Arrays of a layer, or of all layers, that are not queries, keys, values, the mask or the output layer. */
function othersIn(one: OneFile, layer: number | undefined): Named[] {
  const {files, spec} = one
  const [reader] = files.readers
  if (files.arrangement !== 'named' || reader === undefined) return []
  const mask = maskPlaceOf(files, spec, layer)
  const {projection, residualNorm} = outputPlacesOf(files, layer)
  const taken = [mask, projection, residualNorm].map(place => place?.name)
  return [...reader.entries.keys()].flatMap(full => {
    const own = layerOf(full)
    const name = own?.name ?? full
    const other = own !== undefined && own.layer !== layer
    if (other || taken.includes(full) || ROLES.some(role => spec.names[role] === name)) return []
    return [{full, name}]
  })
}

/** What arrays of a file say in place of its metadata. */
export interface StatedByArrays {
  /** beta; absent: no array says it. */
  logitScale?: number
}

/**
 * What the arrays of a layer say of logits in addition to queries and keys.
 *
 * @param overrides - settings that replace it
 * @throws {BAD_OPTION} for a mask of unsettled meaning, what is added to logits, and a scale that is not one positive number or contradicts another
 */
export async function statedByArrays(
  one: OneFile,
  layer: number | undefined,
  {logitScale}: StatedOverrides = {},
): Promise<StatedByArrays> {
  const {files, spec} = one
  const others = othersIn(one, layer)
  const where = (name: string) => `${files.readers[0]!.path}[${shownName(name)}]`
  const masked = maskPlaceOf(files, spec, layer) !== undefined
  const mask = masked ? undefined : others.find(({name}) => MASK.test(name))
  if (mask) throw unsettledMask(where(mask.full), mask.name)
  const second = others.find(({name}) => OTHER_MASKS.has(name))
  if (second && spec.names.key_mask === undefined) {
    const what = 'one array that says which keys take part'
    const remedy = 'name the one that counts with `keyMaskName`'
    throw expected('BAD_OPTION', where(second.full), what, `${second.name} and another`, remedy)
  }
  const bias = others.find(({name}) => BIAS.test(name) && !LINEAR_BIAS.test(name))
  if (bias) {
    const what = 'logits that are a factor times q.k, without anything added'
    const remedy = 'if the model does not add it to logits, save the file without it'
    throw expected('BAD_OPTION', where(bias.full), what, `an array ${bias.name}`, remedy)
  }
  const isSaid = textsOf(files, layer).scale !== undefined
  if (isSaid || (logitScale !== undefined && logitScale !== null)) return {}
  const factors = others.filter(({name}) => FACTOR.test(name))
  const odd = factors.find(({name}) => !SCALE.test(name))
  if (odd) {
    const what = 'a factor on q.k with a known name, such as scale or softmax_scale'
    throw expected('BAD_OPTION', where(odd.full), what, `an array ${odd.name}`, ...FACTOR_REMEDIES)
  }
  const values = await Promise.all(factors.map(({name}) => scalarOf(files, layer, name)))
  const value = onlyValue(values, index => where(factors[index]!.full))
  return value === undefined ? {} : {logitScale: value}
}

/** The value that arrays agree on; `undefined` of none. @throws {BAD_OPTION} */
function onlyValue<T>(values: readonly T[], where: (index: number) => string): T | undefined {
  const [first] = values
  const other = values.findIndex(value => value !== first)
  if (other < 0) return first
  const what = `${String(first)}, as ${where(0)} says`
  const remedy = 'save the file with one of them'
  throw expected('BAD_OPTION', where(other), what, String(values[other]), remedy)
}

function unsettledMask(where: string, name: string) {
  const what =
    'a mask with a known name: key_mask or attention_mask (nonzero: the key takes part), key_padding_mask (nonzero: padding)'
  const remedy = `name it with \`keyMaskName: ${name}\` if it is [B, S] and nonzero for keys that take part`
  const other = 'or save it as one of these names, or save the file without it'
  return expected('BAD_OPTION', where, what, `an array ${name}`, remedy, other)
}

const FACTOR_REMEDIES = [
  'name the factor with `scale`, which overrides it',
  'or save the file without it',
]

/** The one positive number that an array is. @throws {BAD_OPTION} */
async function scalarOf(files: InputFiles, layer: number | undefined, name: string) {
  const place = optionalPlaceOf(files, layer, name)!
  const what = 'one positive number, the factor on q.k'
  const count = place.shape.reduce((product, axis) => product * axis, 1)
  if (count !== 1) {
    const got = `shape ${describe(place.shape)}`
    throw expected('BAD_OPTION', place.where, what, got, ...FACTOR_REMEDIES)
  }
  const value = Number((await place.reader.read(place.name)).data[0])
  if (value > 0 && Number.isFinite(value)) return value
  throw expected('BAD_OPTION', place.where, what, String(value), ...FACTOR_REMEDIES)
}

/**
 * Whether the model ran with a causal mask, by an array of one element; `undefined`: there is no such array.
 *
 * @throws {BAD_OPTION} for an array of another shape
 */
export async function causalByArray(
  one: OneFile,
  layer: number | undefined,
): Promise<boolean | undefined> {
  const found = othersIn(one, layer).filter(({name}) => CAUSAL.test(name))
  const places = found.map(({name}) => optionalPlaceOf(one.files, layer, name)!)
  const values = await Promise.all(
    places.map(async ({shape, reader, name, where}) => {
      if (shape.every(axis => axis === 1)) return Number((await reader.read(name)).data[0]) !== 0
      const remedies = ['say which with `causal` or `noCausal`', 'or save the file without it']
      const got = `shape ${describe(shape)}`
      throw expected('BAD_OPTION', where, 'one truth value', got, ...remedies)
    }),
  )
  return onlyValue(values, index => places[index]!.where)
}

/** Arrays that nothing reads, in the order of the file, each once for all layers. @throws as opening files does */
export async function unusedArrays(spec: InputSpec): Promise<string[]> {
  return unusedBeside(spec, [])
}

/** The same without those that an estimator takes. @param used - their names */
async function unusedBeside(spec: InputSpec, used: readonly string[]): Promise<string[]> {
  if (spec.kind === 'generator') return []
  return withFiles(spec, async files => {
    const names = filesOf(files, spec).flatMap(one => {
      const layers = new Set(
        [...(one.files.readers[0]?.entries.keys() ?? [])].map(name => layerOf(name)?.layer),
      )
      return [...layers].flatMap(layer => othersIn(one, layer))
    })
    const plain = names.filter(({name}) => !SCALE.test(name) && !CAUSAL.test(name))
    const members = files.readers.flatMap(({otherMembers = []}) => otherMembers)
    const all = new Set([...plain.map(({name}) => name), ...members])
    return [...all].filter(name => !used.includes(name))
  })
}

/** What to say of the other arrays of an input: which are passed over, and which has the mask under another name than `key_mask`. */
export async function arrayNotes(spec: InputSpec, used: readonly string[] = []): Promise<string[]> {
  if (spec.kind === 'generator') return []
  const unused = await unusedBeside(spec, used)
  const masks = await withFiles(spec, async files =>
    filesOf(files, spec).flatMap(one => maskNote(one) ?? []),
  )
  const name = spec.paths.length === 1 ? basename(spec.paths[0]!) : 'files'
  const passed = unused.length === 0 ? [] : [`${name}: not used: ${namesText(unused)}`]
  return [...new Set(masks), ...passed]
}

/** More names than this are counted, not listed. */
const LISTED = 12

function namesText(names: readonly string[]): string {
  const rest = names.length - LISTED
  return names.slice(0, LISTED).map(shownName).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function maskNote({files, spec}: OneFile): string | undefined {
  const place = maskPlaceOf(files, spec, undefined)
  if (!place || spec.names.key_mask !== undefined || place.name === 'key_mask') return undefined
  const meaning = place.hides ? 'nonzero is padding' : 'nonzero takes part'
  return `${basename(place.reader.path)}: key mask ${shownName(place.name)}, ${meaning}`
}
