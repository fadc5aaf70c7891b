/** The weights of a folder: which there are is known at once, elements are read a few arrays at a time. */
import {readdir} from 'node:fs/promises'
import {basename, join} from 'node:path'
import {z} from 'zod'
import {describe, expected, RfaError, shownName} from '../errors.js'
import {type ArrayEntry, openArrays} from '../inputs/files/index.js'
import {readRows} from '../inputs/files/safetensors.js'
import {toFloat32} from '../inputs/nd-array.js'
import {parseWith} from '../results/journal/parse-record.js'
import {tf} from '../tf.js'
import {readJson} from './json.js'

/** One array that a part of a model needs: a vector or a matrix. */
export interface WeightSpec<Shape extends readonly number[] = readonly number[]> {
  name: string
  shape: Shape
}

/** Arrays of a part of a model by what they are to it; `undefined` for what the model goes without. */
export type WeightSpecs = Readonly<Record<string, WeightSpec | undefined>>

type TensorOf<Spec> =
  Spec extends WeightSpec<readonly [number, number]>
    ? tf.Tensor2D
    : Spec extends WeightSpec<readonly [number]>
      ? tf.Tensor1D
      : undefined

/** The same as tensors. */
export type WeightTensors<Specs extends WeightSpecs> = {[Key in keyof Specs]: TensorOf<Specs[Key]>}

export function matrix(name: string, rows: number, columns: number): WeightSpec<[number, number]> {
  return {name, shape: [rows, columns]}
}

export function vector(name: string, length: number): WeightSpec<[number]> {
  return {name, shape: [length]}
}

export interface Weights {
  /** Whether there is an array of that name, without the prefix. */
  has(name: string): boolean
  /** All arrays by the names that they are stored under. */
  names(): readonly string[]
  /**
   * Whether all arrays are there as asked for; reads none.
   *
   * @returns the names that they are stored under
   * @throws {ARRAY_MISSING | SHAPE_MISMATCH | UNSUPPORTED} for one that is not there, has another shape, or is stored in
   *   another type than F32, F16 or BF16
   */
  check(specs: WeightSpecs): readonly string[]
  /**
   * Reads arrays as float32 tensors, to be disposed of by the caller.
   *
   * @throws {NOT_FINITE} for one with NaN or an infinity in it, as the others do
   */
  read<Specs extends WeightSpecs>(specs: Specs): Promise<WeightTensors<Specs>>
  /** Elements of one array as float32. */
  readData(spec: WeightSpec): Promise<Float32Array>
  /** Rows of a matrix as float32, `[rows, columns]`; it is never in memory as a whole. */
  readRows(spec: WeightSpec<[number, number]>, rows: Int32Array): Promise<Float32Array>
}

const SINGLE = 'model.safetensors'
const INDEX = 'model.safetensors.index.json'
const WRITE = 'write it with `model.save_pretrained(FOLDER)` of Transformers'
const OTHER =
  'the weights are of another model than config.json: write both with `model.save_pretrained(FOLDER)` of Transformers'
/** Names that a message shows. */
const SHOWN = 3
const READABLE = ['float32', 'float16', 'bfloat16']
/** Older names of scales and shifts of norms, which early models have still. */
const OLDER: readonly [RegExp, string][] = [
  [/LayerNorm\.weight$/, 'LayerNorm.gamma'],
  [/LayerNorm\.bias$/, 'LayerNorm.beta'],
]

const indexFile = z.looseObject({weight_map: z.record(z.string(), z.string())})

/** An array and the file that holds it. */
interface Stored {
  path: string
  name: string
  entry: ArrayEntry
}

/**
 * Opens `model.safetensors`, or the files that `model.safetensors.index.json` names: their headers are read and checked.
 *
 * @param folder - as the user wrote it
 * @param prefix - may stand before all names, with its dot
 * @param remedy - what to try where there are none
 * @throws {FILE_MISSING} when neither is there, or one of several files is not
 * @throws {BAD_FILE | ARRAY_MISSING} when a file is cut or no .safetensors, or does not hold what the index says
 */
export async function openWeights(
  folder: string,
  prefix: string,
  remedy = WRITE,
): Promise<Weights> {
  const stored = new Map<string, Stored>()
  for (const [file, names] of await filesOf(folder, remedy)) {
    const path = join(folder, file)
    const entries = await entriesOf(path)
    for (const name of names ?? entries.keys()) {
      const entry = entries.get(name)
      if (!entry) throw notHeld(path, name)
      stored.set(name, {path, name, entry})
    }
  }
  const find = (name: string): Stored | undefined => {
    const older = OLDER.map(([pattern, other]) => name.replace(pattern, other))
    const names = [name, ...older].flatMap(candidate => [prefix + candidate, candidate])
    return names.map(candidate => stored.get(candidate)).find(found => found !== undefined)
  }
  const checked = (spec: WeightSpec): Stored => checkStored(folder, spec, find(spec.name))
  const readAll = async (specs: WeightSpecs) => {
    const tensors: Record<string, tf.Tensor> = {}
    try {
      for (const [key, spec] of Object.entries(specs)) {
        if (spec) tensors[key] = tf.tensor(await readStored(checked(spec)), [...spec.shape])
      }
      return tensors
    } catch (error) {
      tf.dispose(tensors)
      throw error
    }
  }
  return {
    has: name => find(name) !== undefined,
    names: () => [...stored.keys()],
    check: specs => Object.values(specs).flatMap(spec => (spec ? [checked(spec).name] : [])),
    read: async <Specs extends WeightSpecs>(specs: Specs) =>
      (await readAll(specs)) as WeightTensors<Specs>,
    readData: spec => readStored(checked(spec)),
    readRows: async (spec, rows) => {
      const {path, name} = checked(spec)
      return finite({path, name}, await readRows(path, name, rows))
    },
  }
}

/** Names of the files that weights are read from. @throws as {@link openWeights} */
export async function weightFiles(folder: string): Promise<string[]> {
  const files = [...(await filesOf(folder)).keys()]
  return files[0] === SINGLE ? files : [INDEX, ...files]
}

/** Files of weights, with the names of what they hold where an index says so. */
async function filesOf(folder: string, remedy = WRITE): Promise<Map<string, string[] | undefined>> {
  const there = await readdir(folder)
  if (there.includes(SINGLE)) return new Map([[SINGLE, undefined]])
  if (!there.includes(INDEX)) throw noWeights(folder, there, remedy)
  const path = join(folder, INDEX)
  const json = await readJson(path, 'copy the folder again')
  const {weight_map: map} = parseWith(indexFile, json, path, 'the index of files of weights')
  const thereAt = new Set(there)
  const files = new Map<string, string[]>()
  for (const [name, file] of Object.entries(map)) {
    if (file !== basename(file)) {
      throw expected('BAD_FILE', path, 'names of files in its folder', describe(file))
    }
    const names = files.get(file)
    if (names) names.push(name)
    else files.set(file, [name])
  }
  const missing = [...files.keys()].filter(file => !thereAt.has(file))
  if (missing.length === 0) return files
  const rest = missing.length > SHOWN ? ` and ${missing.length - SHOWN} more` : ''
  const got = `none called ${missing.slice(0, SHOWN).map(shownName).join(', ')}${rest}`
  const copy = 'copy the whole folder again'
  throw expected('FILE_MISSING', path, `${files.size} files of weights beside it`, got, copy)
}

function noWeights(folder: string, there: readonly string[], remedy: string): RfaError {
  const other = there.find(file => /\.(bin|pt|pth|h5|msgpack|gguf|onnx)$/.test(file))
  return expected('FILE_MISSING', folder, `${SINGLE} or ${INDEX}`, other ?? 'neither', remedy)
}

/** Headers are read anew with each use: an open reader keeps what was read from it. */
async function entriesOf(path: string): Promise<ReadonlyMap<string, ArrayEntry>> {
  const reader = await openArrays(path)
  await reader.close()
  return reader.entries
}

async function readStored({path, name}: Stored): Promise<Float32Array> {
  const reader = await openArrays(path)
  try {
    return finite({path, name}, toFloat32(await reader.read(name)))
  } finally {
    await reader.close()
  }
}

/** The same numbers. @throws {NOT_FINITE} for NaN and infinities among them */
function finite<Data extends Float32Array>(
  {path, name}: Pick<Stored, 'path' | 'name'>,
  data: Data,
): Data {
  let sum = 0
  // 0 unless one of them is not finite
  for (let i = 0; i < data.length; i++) sum += 0 * data[i]!
  if (sum === 0) return data
  const at = data.findIndex(x => !Number.isFinite(x))
  const got = `${data[at]} among them`
  const remedy = 'the training may have diverged: take an earlier checkpoint'
  throw expected('NOT_FINITE', `${path}[${shownName(name)}]`, 'finite numbers', got, remedy)
}

function checkStored(folder: string, {name, shape}: WeightSpec, stored?: Stored): Stored {
  if (!stored) {
    const message = `${folder}: expected weights ${describe(name)}, got a model without them`
    throw new RfaError('ARRAY_MISSING', message, {suggestions: [OTHER]})
  }
  const {path, entry} = stored
  const place = `${path}[${shownName(stored.name)}]`
  if (entry.dtype === null || !READABLE.includes(entry.dtype)) {
    const remedy = 'save the model in one of these, without quantisation'
    const what = 'weights of type F32, F16 or BF16'
    throw expected('UNSUPPORTED', place, what, entry.storedType, remedy)
  }
  if (describe(entry.shape) !== describe([...shape])) {
    throw expected('SHAPE_MISMATCH', place, describe([...shape]), describe(entry.shape), OTHER)
  }
  return stored
}

function notHeld(path: string, name: string): RfaError {
  const message = `${path}: expected weights ${describe(name)}, as ${INDEX} says, got a file without them`
  return new RfaError('ARRAY_MISSING', message, {suggestions: ['copy the whole folder again']})
}
