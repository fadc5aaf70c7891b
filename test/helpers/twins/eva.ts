/** EVA in double precision: for every query, which keys and which chunks, then one softmax over both. */
import {
  add,
  attend,
  type BoundedMatrix,
  filled,
  halfSquaredNorms,
  log,
  matMul,
  rowsAt,
  scale,
  stackRows,
  zeros,
} from '../bounded.js'
import {ELEMENTARY, maxAbs, U} from '../rounding.js'
import {mapLandmarks} from './landmarks.js'
import {
  emptyOutput,
  forEachHead,
  type Head,
  headMatrix,
  matricesOf,
  type Twin,
  type TwinInputs,
  writeHead,
} from './types.js'

/** One axis of the tokens: its length, the sides of windows and chunks, and the reach of windows. */
interface Axis {
  length: number
  window: number
  chunk: number
  reach: number
}

interface Cuts {
  axes: Axis[]
  once: boolean
  whole: boolean
  causal: boolean
}

function cutsOf({query, causal, numFeatures, options}: TwinInputs): Cuts {
  const length = query.shape[2]
  const window = Number(options.window)
  const width = options.gridWidth as number | null
  const whole = options.padding === 'zeros'
  const padded = whole && width === null ? Math.ceil(length / window) * window : length
  const count = whole ? Math.floor(padded / numFeatures) : Math.ceil(padded / numFeatures)
  const root = width === null ? count : Math.sqrt(count)
  const fromCount = causal ? 16 : Math.max(1, whole ? Math.floor(root) : Math.ceil(root))
  const chunk = (options.chunkSize as number | null) ?? fromCount
  const beyond = causal ? window : Math.max(1, Math.floor(window / 2))
  const reach = options.overlap ? beyond : 0
  const lengths = width === null ? [length] : [length / width, width]
  return {
    axes: lengths.map(axis => ({length: axis, window, chunk, reach})),
    once: options.localKeys === 'once',
    whole,
    causal,
  }
}

/** Coordinates of a position along each axis. */
function coordinates(position: number, {axes}: Cuts): number[] {
  if (axes.length === 1) return [position]
  const width = axes[1]!.length
  return [Math.floor(position / width), position % width]
}

/** The interval that the window of coordinate `x` sees, before it is widened to chunks. */
function reachOf(x: number, {window, reach, length}: Axis, causal: boolean) {
  const start = Math.floor(x / window) * window
  const end = causal ? start + window : start + window + reach
  return {from: Math.max(0, start - reach), to: Math.min(length, end)}
}

/** Whether the chunk with index `k` along an axis meets that interval. */
function meets(k: number, x: number, axis: Axis, causal: boolean): boolean {
  const {from, to} = reachOf(x, axis, causal)
  return k * axis.chunk < to && (k + 1) * axis.chunk > from
}

function seesKey(i: number, j: number, cuts: Cuts): boolean {
  if (cuts.causal && j > i) return false
  const [x, y] = [coordinates(i, cuts), coordinates(j, cuts)]
  return cuts.axes.every((axis, a) => {
    const {from, to} = reachOf(x[a]!, axis, cuts.causal)
    if (!cuts.once) return y[a]! >= from && y[a]! < to
    return meets(Math.floor(y[a]! / axis.chunk), x[a]!, axis, cuts.causal)
  })
}

interface Chunk {
  index: number[]
  members: number[]
  /** Places, tokens or not. */
  places: number
}

function seesChunk(i: number, {index}: Chunk, cuts: Cuts): boolean {
  const x = coordinates(i, cuts)
  const [axis] = cuts.axes as [Axis]
  if (cuts.causal && !cuts.once) return index[0]! < Math.floor(i / axis.chunk)
  if (cuts.causal) return (index[0]! + 1) * axis.chunk <= reachOf(i, axis, true).from
  if (!cuts.once) return true
  return !cuts.axes.every((own, a) => meets(index[a]!, x[a]!, own, false))
}

function chunksOf(cuts: Cuts, length: number, present: (j: number) => boolean): Chunk[] {
  const beyond = cuts.once || cuts.causal ? 0 : cuts.axes[0]!.reach
  const counts = cuts.axes.map(({length: n, window, chunk}) =>
    cuts.whole ? Math.floor((Math.ceil(n / window) * window) / chunk) : Math.ceil(n / chunk),
  )
  const total = counts.reduce((product, n) => product * n, 1)
  return Array.from({length: total}, (_, c) => {
    const index = counts.length === 1 ? [c] : [Math.floor(c / counts[1]!), c % counts[1]!]
    const inside = (j: number) =>
      coordinates(j, cuts).every((y, a) => {
        const side = cuts.axes[a]!.chunk
        return y >= index[a]! * side - beyond && y < (index[a]! + 1) * side + beyond
      })
    const members = Array.from({length}, (_, j) => j).filter(j => inside(j) && present(j))
    return {
      index,
      members,
      places: cuts.axes.reduce((n, {chunk}) => n * (chunk + 2 * beyond), 1),
    }
  })
}

/** Mean of rows, `[1, D]`; of nothing, zero. */
function mean(rows: BoundedMatrix, members: readonly number[], divisor: number): BoundedMatrix {
  if (members.length === 0) return zeros(1, rows.columns)
  const ones = zeros(1, members.length)
  ones.value.fill(1)
  return scale(matMul(ones, rowsAt(rows, members)), 1 / divisor)
}

/** Key and value that stand for one chunk. */
function summary(inputs: TwinInputs, head: Head, chunk: Chunk, c: number) {
  const {options, logitScale, causal} = inputs
  const {query, key, value} = matricesOf(head)
  const {members, places} = chunk
  const divisor = options.padding === 'zeros' ? places : members.length
  const meanKey = mapLandmarks(mean(key, members, divisor), 'key', inputs)
  const proposal = (causal ? options.causalProposal : null) ?? options.proposal
  let bridge = zeros(1, key.columns)
  if (proposal !== 'zero') {
    const meanQuery = mapLandmarks(mean(query, members, divisor), 'query', inputs)
    bridge = scale(add(meanQuery, meanKey), proposal === 'average' ? 0.5 : 1)
  }
  if (options.sampling === 'sampled') {
    const noise = rowsAt(headMatrix(inputs, inputs.noise.proposal!, head.index), [c])
    const spread = options.noiseScale === 'canonical' ? logitScale ** -0.5 : 1
    bridge = add(bridge, scale(noise, spread))
  }
  if (members.length === 0) return {key: meanKey, value: zeros(1, value.columns)}
  const keys = rowsAt(key, members)
  const keyBias = scale(halfSquaredNorms(keys), -logitScale)
  const mixed = attend(bridge, keys, rowsAt(value, members), {scale: logitScale, keyBias})
  return {key: meanKey, value: mixed.out}
}

export const eva: Twin = inputs => {
  const out = emptyOutput(inputs)
  const cuts = cutsOf(inputs)
  const {options, keyMask, logitScale} = inputs
  const [, heads, length] = inputs.query.shape
  forEachHead(inputs, head => {
    const present = (j: number) => keyMask?.[Math.floor(head.index / heads) * length + j] !== 0
    const chunks = chunksOf(cuts, length, present)
    const {query, key, value} = matricesOf(head)
    const far = chunks.map((chunk, c) => summary(inputs, head, chunk, c))
    const keys = stackRows(key, ...far.map(chunk => chunk.key))
    const values = stackRows(value, ...far.map(chunk => chunk.value))
    const counts = chunks.map(({members}) =>
      options.count === 'none' ? filled(1, 1, 0) : log(filled(1, 1, Math.max(1, members.length))),
    )
    const keyBias = stackRows(zeros(length, 1), ...counts)
    const sees = (i: number, at: number) => {
      if (at < length) return present(at) && seesKey(i, at, cuts)
      const chunk = chunks[at - length]!
      return (cuts.whole || chunk.members.length > 0) && seesChunk(i, chunk, cuts)
    }
    const together = {scale: logitScale, keyBias, sees}
    const {lse} = attend(query, keys, values, together)
    keyBias.error.forEach((e, at) => {
      keyBias.error[at] = e + mergeError(lse)
    })
    writeHead(out, head, attend(query, keys, values, together).out)
  })
  return {out}
}

/** Near and far keys may be two softmaxes, merged by their log-sums: two differences, an exp, a quotient. */
function mergeError({value}: BoundedMatrix): number {
  const largest = maxAbs(value.filter(Number.isFinite))
  return U * (4 * largest + 2 * ELEMENTARY + 4)
}
