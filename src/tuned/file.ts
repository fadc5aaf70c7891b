/**
 * Files of learned parameters: `.safetensors` with `layers.N.query_map` and `layers.N.key_map`, where random vectors were learned
 * `layers.N.draws.R.query_map`, `.key_map` and `.projection`; without `layers.N.` for arrays of no layer.
 */
import {describe, expected, shownName} from '../errors.js'
import {type ArrayReader, missingArray, openArrays, writeArrays} from '../inputs/files/index.js'
import {digestOf} from '../inputs/input-files.js'
import {layerOf} from '../inputs/layers.js'
import {type NdArray, toFloat32} from '../inputs/nd-array.js'
import {metadataOf, nameIn, readFacts, readLayerFacts, type TunedFacts} from './metadata.js'
import {
  hasLearnedRows,
  type Tuned,
  type TunedFile,
  type TunedLayer,
  type TunedParameters,
} from './types.js'

/** Arrays of a set, by their names in files. */
const NAMES = {queryMap: 'query_map', keyMap: 'key_map', projection: 'projection'} as const
type Role = keyof typeof NAMES
const ROLES = Object.keys(NAMES) as Role[]

/**
 * Reads a file of learned parameters.
 *
 * @throws {FILE_MISSING} when there is no such file
 * @throws {BAD_FILE} when it is cut, is a file of something else, or holds numbers that are not finite
 * @throws {ARRAY_MISSING | SHAPE_MISMATCH} when arrays are not those that its texts say
 */
export async function readTuned(path: string): Promise<TunedFile> {
  const reader = await openArrays(path)
  try {
    const {metadata, entries} = reader
    const facts = readFacts(path, metadata)
    const layers: TunedLayer[] = []
    for (const layer of layersIn(reader)) {
      const own = readLayerFacts(path, metadata, layer)
      layers.push({...own, sets: await setsOf(reader, facts, layer)})
    }
    if (layers.length === 0) throw missingArray(path, nameIn(0, NAMES.queryMap), entries)
    return {...facts, layers, path, digest: await digestOf({readers: [reader]})}
  } finally {
    await reader.close()
  }
}

/**
 * Writes learned parameters, whole or not at all: a file that is there stays until the new one is complete.
 *
 * @param path - ends in .safetensors
 * @throws {BAD_FILE} for another ending
 * @throws {NOT_WRITABLE} when the place refuses the file
 */
export async function writeTuned(path: string, tuned: Tuned): Promise<void> {
  if (!path.toLowerCase().endsWith('.safetensors')) {
    throw expected('BAD_FILE', path, 'a name that ends in .safetensors', describe(path))
  }
  const arrays: Record<string, NdArray> = {}
  const shapes = shapesOf(tuned)
  for (const {layer, sets} of tuned.layers) {
    sets.forEach((set, draw) => {
      for (const role of ROLES) {
        const data = set[role]
        const shape = shapes[role]
        if (data) arrays[arrayName(tuned, {layer, draw, role})] = {shape, dtype: 'float32', data}
      }
    })
  }
  await writeArrays(path, arrays, metadataOf(tuned))
}

/** Shapes of the arrays of a set. */
function shapesOf({heads, keyHeads, headDim, numFeatures}: TunedFacts): Record<Role, number[]> {
  return {
    queryMap: [heads, headDim, headDim],
    keyMap: [keyHeads, headDim, headDim],
    projection: [heads, numFeatures ?? 0, headDim],
  }
}

/** Where an array stands. */
interface Place {
  layer: number | undefined
  draw: number
  role: Role
}

function arrayName(facts: Pick<Tuned, 'learned'>, {layer, draw, role}: Place): string {
  const name = NAMES[role]
  return nameIn(layer, hasLearnedRows(facts) ? `draws.${draw}.${name}` : name)
}

const MAP = /^(?:draws\.\d+\.)?query_map$/

/** Layers with parameters, in ascending order; `undefined` for those of no layer. */
function layersIn({entries}: ArrayReader): (number | undefined)[] {
  const names = [...entries.keys()]
  if (names.some(name => MAP.test(name))) return [undefined]
  const layers = names.flatMap(name => {
    const own = layerOf(name)
    return own && MAP.test(own.name) ? [own.layer] : []
  })
  return [...new Set(layers)].sort((a, b) => a - b)
}

/** All sets of a layer. */
async function setsOf(
  reader: ArrayReader,
  facts: TunedFacts,
  layer: number | undefined,
): Promise<TunedParameters[]> {
  const shapes = shapesOf(facts)
  const rows = hasLearnedRows(facts)
  const nameOf = (role: Role) => arrayName(facts, {layer, draw: sets.length, role})
  const read = (role: Role) => checkedArray(reader, nameOf(role), shapes[role])
  const sets: TunedParameters[] = []
  do {
    sets.push({
      queryMap: await read('queryMap'),
      keyMap: await read('keyMap'),
      ...(rows && {projection: await read('projection')}),
    })
  } while (rows && reader.entries.has(nameOf('queryMap')))
  return sets
}

async function checkedArray(
  reader: ArrayReader,
  name: string,
  shape: readonly number[],
): Promise<Float32Array<ArrayBuffer>> {
  const array = await reader.read(name)
  const where = `${reader.path}[${shownName(name)}]`
  if (array.shape.join() !== shape.join()) {
    throw expected('SHAPE_MISMATCH', where, describe(shape), describe(array.shape), 'tune again')
  }
  const data = toFloat32(array)
  const wrong = data.find(value => !Number.isFinite(value))
  if (wrong === undefined) return data
  throw expected('BAD_FILE', where, 'finite numbers', String(wrong), 'tune again')
}
