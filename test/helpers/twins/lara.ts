/** Linear randomized attention in double precision, with bounds. */
import {
  add,
  attend,
  type BoundedMatrix,
  exp,
  halfSquaredNorms,
  lipschitz,
  log,
  logSumExpRows,
  matMul,
  mul,
  rowSums,
  rowsAt,
  scale,
  softmaxRows,
  sqrt,
  stackRows,
  sub,
  transpose,
  zeros,
} from '../bounded.js'
import {ELEMENTARY, gamma, U} from '../rounding.js'
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

export const importanceSampled: Twin = inputs => {
  const out = emptyOutput(inputs)
  forEachHead(inputs, head => {
    const present = indices(head.keyLen).filter(j => head.sees(0, j))
    if (present.length > 0) writeHead(out, head, readHead(inputs, head, present))
  })
  return {out}
}

const indices = (length: number) => Array.from({length}, (_, i) => i)

/** Which tokens each landmark is the mean of, and of how many it is. */
interface Group {
  rows: readonly number[]
  size: number
  /** Its place among all landmarks, those without any present key included. */
  slot: number
}

function readHead(inputs: TwinInputs, head: Head, present: readonly number[]): BoundedMatrix {
  const {logitScale, options} = inputs
  const {query, key, value} = tokensOf(inputs, head, present)
  const {queryGroups, keyGroups, slots} = groupsOf(inputs, head, present)
  const landmarkQueries = landmarks(inputs, 'query', query, queryGroups)
  const plainKeys = landmarks(inputs, 'key', key, keyGroups)
  const landmarkValues = pooled(value, keyGroups)
  const landmarkKeys =
    options.mixing === 'none' || options.proposals === 'zero'
      ? plainKeys
      : mixedKeys(plainKeys, options.mixing === 'values' ? landmarkValues : undefined, logitScale)
  const centres = add(landmarkQueries, landmarkKeys)
  const own = vectorsPer(inputs) === 2 ? stackRows(centres, centres) : centres
  const vectors = drawn(inputs, head, own, keyGroups, slots)
  const {out: values, lse} = attend(vectors, key, value, {
    scale: logitScale,
    keyBias: scale(halfSquaredNorms(key), -logitScale),
    sees: (_, j) => present.includes(j),
  })
  const products = scale(matMul(vectors, centres, true), logitScale)
  const norms = transpose(scale(halfSquaredNorms(centres), logitScale))
  const density = logSumExpRows(sub(products, norms))
  if (options.mis !== 'opt') {
    const keys = options.mis === 'bh' ? vectors : add(vectors, own)
    return attend(query, keys, values, {scale: logitScale, keyBias: sub(lse, density)}).out
  }
  const ownDensity = sub(
    scale(rowSums(mul(vectors, own)), logitScale),
    scale(halfSquaredNorms(own), logitScale),
  )
  const halved = own.rows > centres.rows && options.balance === 'samples' ? 0.5 : 1
  const share = lipschitz(sub(ownDensity, density), x => Math.min(x, 0), 1, 0)
  const balance = scale(exp(share), halved)
  const alpha = corrected(inputs, query, landmarkQueries, balance)
  const bias = transpose(sub(lse, ownDensity))
  const logits = add(scale(matMul(query, vectors, true), logitScale), bias)
  return matMul(weighed(alpha, logits, Number(options.alphaFloor)), values)
}

function vectorsPer({options}: TwinInputs): number {
  return options.sampling === 'antithetic' || options.sampling === 'multisample' ? 2 : 1
}

/** Queries, keys and values; with zeroed means, masked ones are zero. */
function tokensOf(inputs: TwinInputs, head: Head, present: readonly number[]) {
  const tokens = matricesOf(head)
  if (!inputs.keyMask || inputs.options.maskedMeans !== 'zeroed') return tokens
  const zeroed = (a: BoundedMatrix) => {
    if (a.rows !== head.keyLen) return a
    const value = a.value.map((x, at) => (present.includes(Math.floor(at / a.columns)) ? x : 0))
    return {...a, value}
  }
  return {query: zeroed(tokens.query), key: zeroed(tokens.key), value: zeroed(tokens.value)}
}

/** Groups of both sides, and how many proposals there would be without a mask. */
function groupsOf(
  {keyMask, numFeatures, options}: TwinInputs,
  {queryLen, keyLen}: Head,
  present: readonly number[],
) {
  const queries = indices(queryLen)
  const keys = keyMask && options.maskedMeans === 'exact' ? present : indices(keyLen)
  const most = Math.min(numFeatures, queryLen)
  switch (options.proposals) {
    case 'zero': {
      const none = indices(numFeatures).map(slot => ({rows: [], size: 1, slot}))
      return {queryGroups: none, keyGroups: none, slots: numFeatures}
    }
    case 'grid': {
      const side = Math.floor(Math.sqrt(numFeatures))
      const all = cells(keyLen, options, side).map(rows => rows.filter(j => keys.includes(j)))
      const kept = indices(all.length).filter(c => all[c]!.length > 0)
      const queryCells = cells(queryLen, options, side)
      return {
        queryGroups: kept.map(c => group(queryCells[c]!, c)),
        keyGroups: kept.map(c => group(all[c]!, c)),
        slots: side * side,
      }
    }
    default: {
      const count = Math.min(most, keys.length)
      return {
        queryGroups: segments(queries, count),
        keyGroups: segments(keys, count),
        slots: Math.min(most, keyLen),
      }
    }
  }
}

function group(rows: readonly number[], slot: number): Group {
  return {rows, size: rows.length, slot}
}

function segments(rows: readonly number[], count: number): Group[] {
  const size = Math.floor(rows.length / count)
  const short = (size + 1) * count - rows.length
  let first = 0
  return indices(count).map(c => {
    const end = first + (c < short ? size : size + 1)
    const part = group(rows.slice(first, end), c)
    first = end
    return part
  })
}

function cells(length: number, {gridHeight, gridWidth}: TwinInputs['options'], side: number) {
  const height = Number(gridHeight ?? (gridWidth ? length / Number(gridWidth) : Math.sqrt(length)))
  const width = length / height
  const within = (at: number, i: number, n: number) =>
    at >= Math.floor((i * n) / side) && at < Math.ceil(((i + 1) * n) / side)
  return indices(side * side).map(cell =>
    indices(length).filter(
      token =>
        within(Math.floor(token / width), Math.floor(cell / side), height) &&
        within(token % width, cell % side, width),
    ),
  )
}

/** Means of groups: weights 1 / size, rounded. */
function pooled(x: BoundedMatrix, groups: readonly Group[]): BoundedMatrix {
  const weights = zeros(groups.length, x.rows)
  groups.forEach(({rows, size}, c) => {
    for (const row of rows) {
      weights.value[c * x.rows + row] = 1 / size
      weights.error[c * x.rows + row] = (3 * U) / size
    }
  })
  return matMul(weights, x)
}

function landmarks(
  inputs: TwinInputs,
  side: 'query' | 'key',
  x: BoundedMatrix,
  groups: readonly Group[],
): BoundedMatrix {
  if (inputs.options.proposals === 'zero') return zeros(groups.length, x.columns)
  const learned = (y: BoundedMatrix) => mapLandmarks(y, side, inputs)
  return inputs.options.learnedPlace === 'tokens'
    ? pooled(learned(x), groups)
    : learned(pooled(x, groups))
}

function mixedKeys(
  keys: BoundedMatrix,
  values: BoundedMatrix | undefined,
  factor: number,
): BoundedMatrix {
  let logits = scale(matMul(keys, keys, true), factor)
  if (values) {
    const lengths = sqrt(rowSums(mul(values, values)))
    logits = add(logits, transpose(log(lipschitz(lengths, x => x + 1e-4, 1, 1))))
  }
  return matMul(softmaxRows(logits), keys)
}

/** The vectors around their centres; rows of noise belong to the proposals that there would be without a mask. */
function drawn(
  inputs: TwinInputs,
  head: Head,
  centres: BoundedMatrix,
  groups: readonly Group[],
  slots: number,
): BoundedMatrix {
  const {options, noise, logitScale} = inputs
  if (options.sampling === 'mean') return centres
  const deviation = options.noiseScale === 'canonical' ? logitScale ** -0.5 : 1
  const all = headMatrix(inputs, noise.noise!, head.index)
  const spread = (first: number) =>
    scale(
      rowsAt(
        all,
        groups.map(({slot}) => first + slot),
      ),
      deviation,
    )
  if (options.sampling === 'single') return add(centres, spread(0))
  const second = options.sampling === 'antithetic' ? scale(spread(0), -1) : spread(slots)
  return add(centres, stackRows(spread(0), second))
}

/** alpha, `[L, C']`. */
function corrected(
  {logitScale, options}: TwinInputs,
  query: BoundedMatrix,
  landmarkQueries: BoundedMatrix,
  balance: BoundedMatrix,
): BoundedMatrix {
  const affinity =
    options.tAxis === 'query'
      ? transpose(softmaxRows(scale(matMul(landmarkQueries, query, true), logitScale)))
      : softmaxRows(scale(matMul(query, landmarkQueries, true), logitScale))
  const correction = sub(affinity, scale(rowSums(affinity), 1 / affinity.columns))
  const weighted = transpose(scale(correction, Number(options.alphaCoefficient)))
  const all = balance.rows > weighted.rows ? stackRows(weighted, weighted) : weighted
  const floor = Number(options.alphaFloor)
  return transpose(lipschitz(add(all, balance), x => Math.max(x, floor), 1, 1))
}

/**
 * Weights alpha exp(logit) over their sum. Alpha may be nearly cancelled: its absolute error counts, not
 * its relative one. float32 may add its logarithm, of magnitude up to |ln floor| + 1, to the logit.
 */
function weighed(alpha: BoundedMatrix, logits: BoundedMatrix, floor: number): BoundedMatrix {
  const {rows, columns} = logits
  const out = zeros(rows, columns)
  const logarithm = Math.abs(Math.log(floor)) + 1
  for (let i = 0; i < rows; i++) {
    const at = (c: number) => i * columns + c
    const all = indices(columns)
    const top = Math.max(...all.map(c => logits.value[at(c)]!))
    const weights = all.map(c => alpha.value[at(c)]! * Math.exp(logits.value[at(c)]! - top))
    const errors = all.map(c => {
      const logit = logits.value[at(c)]!
      const spread = 4 * U * (Math.abs(logit) + Math.abs(top) + 2 * logarithm)
      const relative = Math.expm1(logits.error[at(c)]! + spread + ELEMENTARY * U * logarithm)
      const size = Math.exp(logit - top)
      return (relative + ELEMENTARY * U) * weights[c]! + (1 + relative) * size * alpha.error[at(c)]!
    })
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    const error = errors.reduce((sum, e) => sum + e, gamma(columns + 4) * total)
    for (const c of all) {
      const p = weights[c]! / total
      out.value[at(c)] = p
      const bound = (errors[c]! + p * error) / (total - error) + gamma(columns + 4) * p
      // a weight lies in [0, 1] whatever its error
      out.error[at(c)] = error < total ? Math.min(1, bound) : 1
    }
  }
  return out
}
