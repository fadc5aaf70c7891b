/** Randomized attention in double precision, with bounds. */
import {
  add,
  attend,
  type BoundedMatrix,
  halfSquaredNorms,
  hide,
  matMul,
  rowsAt,
  scale,
  softmaxRows,
  zeros,
} from '../bounded.js'
import {gamma, U} from '../rounding.js'
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

export const randomized: Twin = inputs => {
  const {options, logitScale} = inputs
  const samples = Number(options.samples)
  const deviation = options.noiseScale === 'canonical' ? logitScale ** -0.5 : 1
  const out = emptyOutput(inputs)
  forEachHead(inputs, head => {
    const {query, key, value} = matricesOf(head)
    const keyBias = scale(halfSquaredNorms(key), -logitScale)
    const sees = head.sees
    const rowsOf = (name: string, sample: number) => {
      const all = headMatrix(inputs, inputs.noise[name]!, head.index)
      return rowsAt(
        all,
        Array.from({length: head.queryLen}, (_, i) => i * samples + sample),
      )
    }
    const outputs = Array.from({length: samples}, (_, sample) => {
      let omega = add(
        query,
        centre(inputs, head, () => rowsOf('uniform', sample)),
      )
      if (options.sampled) omega = add(omega, scale(rowsOf('noise', sample), deviation))
      return attend(omega, key, value, {scale: logitScale, keyBias, sees}).out
    })
    const sum = outputs.reduce((a, b) => add(a, b))
    writeHead(out, head, samples === 1 ? sum : scale(sum, 1 / samples))
  })
  return {out}
}

function centre(
  {options, logitScale}: TwinInputs,
  head: Head,
  uniform: () => BoundedMatrix,
): BoundedMatrix {
  const {query, key} = matricesOf(head)
  const {sees} = head
  switch (options.proposal) {
    case 'mean-key':
      return attend(zeros(query.rows, query.columns), key, key, {sees}).out
    case 'softmax-mean':
      return attend(query, key, key, {scale: logitScale, sees}).out
    default: {
      const logits = scale(matMul(query, key, true), logitScale)
      return drawnKeys(key, softmaxRows(hide(logits, sees)), uniform().value)
    }
  }
}

/**
 * The keys at which cumulated weights pass u. A cumulated sum is off by the errors of its weights and
 * S roundings, u by its own: where a sum is as near to u as that, float32 may draw another key, and the
 * row is undecided.
 */
function drawnKeys(
  key: BoundedMatrix,
  {rows, columns, value, error}: BoundedMatrix,
  uniform: Float64Array,
): BoundedMatrix {
  const undecided: number[] = []
  const indices = Array.from({length: rows}, (_, i) => {
    const u = uniform[i]!
    const last = lastPositive(value.subarray(i * columns, (i + 1) * columns))
    let sum = 0
    let bound = gamma(columns + 4) + 2 * U
    let index = -1
    for (let j = 0; j < last; j++) {
      sum += value[i * columns + j]!
      bound += error[i * columns + j]!
      if (sum > 0 && Math.abs(sum - u) <= bound) undecided.push(i)
      if (index < 0 && sum > u) index = j
    }
    return index < 0 ? Math.max(0, last) : index
  })
  const drawn = rowsAt(key, indices)
  for (const i of undecided) drawn.error.fill(Infinity, i * key.columns, (i + 1) * key.columns)
  return drawn
}

function lastPositive(weights: Float64Array): number {
  let last = -1
  weights.forEach((weight, j) => {
    if (weight > 0) last = j
  })
  return last
}
