import {drawProjection, type ProjectionName} from '../../src/attention/index.js'
import {orthogonalFactor} from '../../src/attention/projections/orthogonal.js'
import {coupledRows, reflectedRows, tallRows} from '../../src/attention/projections/released.js'
import {assertWithin, maxAbs, U} from '../helpers/rounding.js'
import type {CaseArrays, GoldenCase} from './cases.js'
import {referenceError} from './check.js'
import {dot, factorBound, reflectionBound, rowAt, transpose} from './factor-bounds.js'

/** What a kind of released matrix promises, and what follows from its Gaussian numbers. */
interface Kind {
  /** Whether rows of a block are orthogonal. */
  orthogonalRows: boolean
  check?(golden: GoldenCase, arrays: CaseArrays): void
}

const KINDS: Partial<Record<ProjectionName, Kind>> = {
  orth: {orthogonalRows: true, check: checkBlocks},
  'orth-sqrt-d': {orthogonalRows: true, check: checkBlocks},
  'orth-coupled': {orthogonalRows: true, check: checkCoupled},
  'orth-tall': {orthogonalRows: false, check: checkTall},
  'orth-columns': {orthogonalRows: false, check: checkColumns},
  householder: {orthogonalRows: true, check: checkReflections},
}

/**
 * Released orthogonal matrices: stated properties, our draw of the same kind, and the matrix itself, signs
 * included, where the Gaussian numbers that it was made of are there.
 */
export function checkProjection(
  golden: GoldenCase,
  arrays: CaseArrays,
  name: ProjectionName,
): void {
  const kind = KINDS[name]
  if (!kind) throw new Error(`${golden.name}: no case of projection "${name}" is known`)
  checkStatedProperties(golden, arrays)
  checkOwnDraw(golden, arrays, name, kind)
  kind.check?.(golden, arrays)
}

interface Properties {
  max_abs_cos_within_block: number
  min_norm: number
  max_norm: number
}

/** D, and rows per head. */
function sizesOf(arrays: CaseArrays): [headDim: number, perHead: number] {
  const shape = arrays.shape('out')
  return [shape.at(-1)!, shape.at(-2)!]
}

/** The properties of the stored matrix are those that the manifest states: our measuring is the peer's. */
export function checkStatedProperties(golden: GoldenCase, arrays: CaseArrays): void {
  const stated = golden.properties as Properties | undefined
  if (!stated) return
  const [headDim, perHead] = sizesOf(arrays)
  const found = measure(arrays.numbers('out'), headDim, perHead)
  // the peer may have measured in float32: D terms
  const names = ['max_abs_cos_within_block', 'min_norm', 'max_norm'] as const
  assertWithin(
    `${golden.name}: ${names.join(', ')}`,
    names.map(name => found[name]),
    names.map(name => stated[name]),
    names.map(name => headDim * U * (1 + stated[name])),
  )
}

/** Largest cosine between two rows of a block of D, and the range of row norms. */
export function measure(rows: Float64Array, headDim: number, perHead: number): Properties {
  const result = {max_abs_cos_within_block: 0, min_norm: Infinity, max_norm: 0}
  const count = rows.length / headDim
  const row = (i: number) => rowAt(rows, i, headDim)
  const block = (i: number) =>
    Math.floor(i / perHead) * perHead + Math.floor((i % perHead) / headDim)
  for (let i = 0; i < count; i++) {
    const norm = Math.sqrt(dot(row(i), row(i)))
    result.min_norm = Math.min(result.min_norm, norm)
    result.max_norm = Math.max(result.max_norm, norm)
    for (let j = 0; j < i; j++) {
      if (block(i) !== block(j)) continue
      const cosine = Math.abs(dot(row(i), row(j))) / Math.sqrt(dot(row(j), row(j))) / norm
      result.max_abs_cos_within_block = Math.max(result.max_abs_cos_within_block, cosine)
    }
  }
  return result
}

/** Our draw of the same kind and size: rows orthogonal where they should be, lengths as the kind says. */
function checkOwnDraw(
  golden: GoldenCase,
  arrays: CaseArrays,
  name: ProjectionName,
  {orthogonalRows}: Kind,
): void {
  const [headDim, numFeatures] = sizesOf(arrays)
  const draw = drawProjection({name, heads: 1, numFeatures, headDim, seed: 11, orthSign: 'raw'})
  const own = measure(draw, headDim, numFeatures)
  // double precision, D terms, up to D reflections
  const orthogonal = !orthogonalRows || own.max_abs_cos_within_block <= headDim * 2 ** -48
  const fixed = name === 'orth-sqrt-d' || name === 'householder'
  const root = Math.sqrt(headDim)
  const lengths = !fixed || Math.max(own.max_norm - root, root - own.min_norm) <= root * 2 ** -44
  if (orthogonal && lengths && own.min_norm > 0) return
  throw new Error(`${golden.name}: own draw ${name} has ${JSON.stringify(own)}`)
}

/** Rows of LAPACK factors of square Gaussian blocks, times lengths: independent, of the block itself, or sqrt(D). */
function checkBlocks(golden: GoldenCase, arrays: CaseArrays): void {
  checkFactors(golden, arrays, false)
}

/** The same, each row of the length of its Gaussian one. */
function checkCoupled(golden: GoldenCase, arrays: CaseArrays): void {
  checkFactors(golden, arrays, true)
}

function checkFactors(golden: GoldenCase, arrays: CaseArrays, coupled: boolean): void {
  if (!arrays.has('gauss_blocks')) return
  const [headDim, perHead] = sizesOf(arrays)
  const out = arrays.numbers('out')
  const size = headDim * headDim
  const lengths = lengthsOf(arrays, headDim)
  for (let first = 0, block = 0; first < out.length / headDim; block++) {
    const gaussian = arrays.numbers('gauss_blocks').slice(block * size, (block + 1) * size)
    const columns = transpose(gaussian, headDim)
    const factor = orthogonalFactor(Float64Array.from(columns), headDim, 'raw')
    const bound = factorBound(columns, factor, headDim) + 2 * (headDim + 4) * U
    const mine = coupled ? coupledRows(gaussian, headDim, 'raw') : factor
    const rows = Math.min(headDim, perHead - (first % perHead))
    for (let row = 0; row < rows; row++) {
      const own = rowAt(mine, row, headDim)
      const length = coupled ? Math.sqrt(dot(own, own)) : lengths(first + row)
      assertWithin(
        `${golden.name}: row ${first + row}`,
        rowAt(out, first + row, headDim),
        coupled ? own : own.map(x => x * length),
        new Float64Array(headDim).fill(bound * length),
      )
    }
    first += rows
  }
}

/** Lengths of rows: those of independent Gaussian rows, else sqrt(D). */
function lengthsOf(arrays: CaseArrays, headDim: number): (row: number) => number {
  if (!arrays.has('norm_gauss')) return () => Math.sqrt(headDim)
  const gaussian = arrays.numbers('norm_gauss')
  return row => Math.hypot(...rowAt(gaussian, row, headDim))
}

/** Products of reflections along the columns of each block's lower triangle. */
function checkReflections(golden: GoldenCase, arrays: CaseArrays): void {
  if (!arrays.has('gauss_blocks')) return
  const [headDim] = sizesOf(arrays)
  const out = arrays.numbers('out')
  const size = headDim * headDim
  for (let first = 0; first < out.length; first += size) {
    const gaussian = arrays.numbers('gauss_blocks').slice(first, first + size)
    assertWithin(
      `${golden.name}: block ${first / size}`,
      out.subarray(first, first + size),
      reflectedRows(Float64Array.from(gaussian), headDim),
      transpose(reflectionBound(gaussian, headDim), headDim).map(x => x * Math.sqrt(headDim)),
    )
  }
}

/** The factor of one tall matrix, in double precision. */
function checkTall(golden: GoldenCase, arrays: CaseArrays): void {
  const out = arrays.numbers('out')
  const rows = tallRows(arrays.numbers('gauss'), arrays.numbers('chi2').map(Math.sqrt), 'raw')
  const bound = new Float64Array(out.length).fill(referenceError(golden, out))
  assertWithin(`${golden.name}: rows`, rows, out, bound)
}

/** Columns are orthogonal in blocks of M, and all of one length where the rows say so. */
function checkColumns(golden: GoldenCase, arrays: CaseArrays): void {
  const [headDim, numFeatures] = sizesOf(arrays)
  const columns = transpose(arrays.numbers('out'), headDim)
  const {max_abs_cos_within_block: cosine} = measureColumns(columns, numFeatures)
  // a float32 Householder factor of size M is orthogonal to 6 M^1.5 u (Higham 2002, theorem 19.4)
  const allowed = 6 * numFeatures ** 1.5 * U + numFeatures * U
  assertWithin(`${golden.name}: cosine of columns`, [cosine], [0], [allowed])
  const own = drawProjection({name: 'orth-columns', heads: 1, numFeatures, headDim, seed: 3})
  const mine = measureColumns(transpose(own, headDim), numFeatures)
  if (mine.max_abs_cos_within_block > numFeatures * 2 ** -48 || maxAbs(own) === 0) {
    throw new Error(`${golden.name}: own columns have ${JSON.stringify(mine)}`)
  }
}

/** Columns of length M in blocks of M. */
function measureColumns(columns: Float64Array, numFeatures: number): Properties {
  return measure(columns, numFeatures, columns.length / numFeatures)
}
