/** Reformer in double precision: who is in view in which round, then softmaxes over those. */
import {
  add,
  type BoundedMatrix,
  div,
  exactly,
  log,
  matMul,
  mul,
  rowSums,
  rowsAt,
  scale,
  softmaxRows,
  sqrt,
  stackRows,
  zeros,
} from '../bounded.js'
import {ELEMENTARY, gamma, maxAbs, U} from '../rounding.js'
import {
  emptyOutput,
  forEachHead,
  headMatrix,
  matricesOf,
  type Twin,
  type TwinInputs,
  writeHead,
} from './types.js'

/** Chunks of a round, each a list of positions. */
type Chunks = number[][]

/** Bucket of each token, or `undefined` when float32 might choose another one. */
function bucketsOf(
  query: BoundedMatrix,
  rotations: BoundedMatrix,
  here: readonly number[],
): number[] | undefined {
  const buckets: number[] = Array(query.rows).fill(0)
  for (const t of here) {
    const scores: number[] = []
    let error = 0
    for (let i = 0; i < rotations.rows; i++) {
      let sum = 0
      let magnitude = 0
      for (let d = 0; d < query.columns; d++) {
        const term = query.value[t * query.columns + d]! * rotations.value[i * query.columns + d]!
        sum += term
        magnitude += Math.abs(term)
      }
      scores.push(sum)
      error = Math.max(error, gamma(query.columns + 2) * magnitude)
    }
    const all = [...scores, ...scores.map(x => -x)]
    const best = Math.max(...all)
    if (all.filter(x => x >= best - 2 * error).length > 1) return undefined
    buckets[t] = all.indexOf(best)
  }
  return buckets
}

function chunksOfRound(here: readonly number[], buckets: readonly number[], size: number): Chunks {
  const sorted = [...here].sort((a, b) => buckets[a]! - buckets[b]! || a - b)
  return Array.from({length: Math.ceil(here.length / size)}, (_, i) =>
    sorted.slice(i * size, (i + 1) * size),
  )
}

/** Chunks of every round, `undefined` where rounding decides a bucket. */
function allChunks(
  inputs: TwinInputs,
  index: number,
  query: BoundedMatrix,
  here: readonly number[],
): Chunks[] | undefined {
  const {options, numFeatures} = inputs
  const size = (options.chunkSize as number | null) ?? numFeatures
  const rounds = Number(options.rounds)
  const buckets = options.buckets as number | null
  const halves = buckets === null ? Math.max(1, Math.ceil(here.length / size / 2)) : buckets / 2
  const rows = headMatrix(inputs, inputs.noise.rotations!, index)
  const found: Chunks[] = []
  for (let round = 0; round < rounds; round++) {
    const own = rowsAt(
      rows,
      Array.from({length: halves}, (_, i) => i * rounds + round),
    )
    const of = here.length > size ? bucketsOf(query, own, here) : query.value.slice(0, query.rows)
    if (!of) return undefined
    found.push(chunksOfRound(here, here.length > size ? [...of] : Array(query.rows).fill(0), size))
  }
  return found
}

/** How often token `i` has token `j` in view in a round: a chunk of another round may hold it once more. */
function inView(
  chunks: readonly Chunks[],
  round: number,
  [i, j]: [number, number],
  options: TwinInputs['options'],
): number {
  const own = chunks[round]!
  const at = own.findIndex(chunk => chunk.includes(i))
  const times = own[at]!.includes(j) ? 1 : 0
  if (at > 0) return times + Number(own[at - 1]!.includes(j))
  if (options.lookBack === 'previous' || (chunks.length === 1 && own.length === 1)) return times
  const before = chunks[(round + chunks.length - 1) % chunks.length]!.at(-1)!
  return times + Number(before.includes(j))
}

export const reformer: Twin = inputs => {
  const out = emptyOutput(inputs)
  const {keyMask, options, causal, logitScale} = inputs
  const [, heads, length] = inputs.query.shape
  forEachHead(inputs, head => {
    const {query, value} = matricesOf(head)
    const first = Math.floor(head.index / heads) * length
    const here = Array.from({length}, (_, t) => t).filter(t => keyMask?.[first + t] !== 0)
    const chunks = allChunks(inputs, head.index, query, here)
    if (!chunks) {
      const undecided = zeros(length, value.columns)
      undecided.error.fill(Infinity)
      return writeHead(out, head, undecided)
    }
    const unit = div(query, sqrt(rowSums(mul(query, query))))
    const logits = scale(matMul(query, unit, true), logitScale)
    const may = (i: number, j: number) =>
      here.includes(i) &&
      here.includes(j) &&
      (!causal || j <= i) &&
      (options.self === 'too' || i !== j)
    const sees = (round: number, i: number, j: number) =>
      may(i, j) ? inView(chunks, round, [i, j], options) : 0
    const views = chunks.map((_, round) => roundLogits(logits, round, sees, chunks.length, options))
    const alone = (i: number) => here.includes(i)
    const read = (joined: BoundedMatrix, times: number) =>
      orSelf(softmaxRows(joined), stackRows(...Array(times).fill(value)), value, alone)
    const result =
      options.combine === 'uniform'
        ? mean(views.map(view => read(view, 1)))
        : read(besideEachOther(views), views.length)
    writeHead(out, head, result)
  })
  return {out}
}

/** Logits of one round, less log of the number of rounds where that is asked for. */
function roundLogits(
  logits: BoundedMatrix,
  round: number,
  sees: (round: number, i: number, j: number) => number,
  rounds: number,
  {duplicates}: TwinInputs['options'],
): BoundedMatrix {
  const out = zeros(logits.rows, logits.columns)
  const merges = U * rounds * (4 * maxAbs(logits.value) + 2 * ELEMENTARY + 4)
  for (let i = 0; i < out.rows; i++) {
    for (let j = 0; j < out.columns; j++) {
      const at = i * out.columns + j
      out.value[at] = -Infinity
      const here = sees(round, i, j)
      if (here === 0) continue
      let times = 0
      for (let r = 0; r < rounds; r++) times += sees(r, i, j)
      const share = duplicates === 'once' ? times / here : 1 / here
      const logarithm = log(exactly([share], 1, 1))
      out.value[at] = logits.value[at]! - logarithm.value[0]!
      out.error[at] =
        logits.error[at]! + logarithm.error[0]! + U * Math.abs(out.value[at]!) + merges
    }
  }
  return out
}

function besideEachOther(views: readonly BoundedMatrix[]): BoundedMatrix {
  const {rows, columns} = views[0]!
  const out = zeros(rows, columns * views.length)
  views.forEach((view, v) => {
    for (let i = 0; i < rows; i++) {
      const own = [i * columns, (i + 1) * columns] as const
      out.value.set(view.value.subarray(...own), i * out.columns + v * columns)
      out.error.set(view.error.subarray(...own), i * out.columns + v * columns)
    }
  })
  return out
}

/** Weighted values; a row without weights takes its own value. */
function orSelf(
  weights: BoundedMatrix,
  values: BoundedMatrix,
  own: BoundedMatrix,
  here: (i: number) => boolean,
): BoundedMatrix {
  const out = matMul(weights, values)
  for (let i = 0; i < out.rows; i++) {
    const row = weights.value.subarray(i * weights.columns, (i + 1) * weights.columns)
    if (!here(i) || row.some(w => w > 0)) continue
    out.value.set(own.value.subarray(i * out.columns, (i + 1) * out.columns), i * out.columns)
  }
  return out
}

function mean(parts: readonly BoundedMatrix[]): BoundedMatrix {
  return scale(parts.reduce(add), 1 / parts.length)
}
