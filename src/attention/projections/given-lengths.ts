/**
 * Whole matrices of which one length may be given: that of some normals that a row is made of. Where these are drawn, their
 * vector is stretched to it, as its direction does not depend on its length.
 */
import type {RandomStream} from '../../random/index.js'
import {haltonRows} from './halton.js'
import {type ProjectionName, projectionNamed} from './index.js'
import {momentGiven} from './moment.js'
import {columnsGiven, tallGiven} from './released.js'
import {norm, rowOf} from './rows.js'
import {sobolRows} from './sobol.js'
import type {GivenRow, MatrixShape, StreamOf} from './types.js'

interface GivenLength {
  row: number
  length: number
}

/** A matrix and what its rows follow. */
export interface DrawnMatrix {
  /** `[M, D]` */
  matrix: Float64Array
  /** The length that each row follows, `[M]`; where none may be given, its own. */
  sources: Float64Array
}

/** What is drawn of a projection that has several matrices. */
export interface MatrixRequest extends MatrixShape {
  name: ProjectionName
  stream: StreamOf
  given?: GivenLength | undefined
}

/** The law of what a row follows. */
export interface LengthLaw {
  /** P */
  dim: number
  /** It is the length of D coordinates of a uniform vector of length sqrt(P) in P dimensions. Default: of P normals. */
  sphere?: boolean
}

/** Which normals a row follows: those of one stream, in vectors of `size`. */
interface Source {
  part: string
  /** Normals of a row. */
  size: number
  /** Rows that share a stream. */
  rows: number
  /** Rows that share a vector. Default 1. */
  shared?: number
}

/** Normals that rows of a projection follow; `undefined`: lengths are as they are drawn. */
function sourceOf(name: ProjectionName, {numFeatures, headDim}: MatrixShape): Source | undefined {
  const ofRows = {part: 'directions', size: headDim}
  const block = {size: headDim, rows: headDim}
  switch (name) {
    case 'iid':
    case 'orth-coupled':
      return {part: 'directions', ...block}
    case 'antithetic':
      return {...ofRows, rows: Number.POSITIVE_INFINITY, shared: 2}
    case 'orth':
    case 'simplex':
    case 'simplex-plus':
    case 'givens':
      return {part: 'lengths', ...block}
    case 'sorf-chi': {
      const padded = 2 ** Math.ceil(Math.log2(headDim))
      return {part: 'lengths', size: padded, rows: padded}
    }
    case 'orth-tall':
      // a square one is a block of orthogonal rows
      return numFeatures > headDim ? undefined : {part: 'lengths', ...block}
    default:
      return undefined
  }
}

/** Draws of which a whole row can be given, where sizes allow. */
const BY_ROW: Partial<Record<ProjectionName, (shape: MatrixShape) => RowDraw | undefined>> = {
  sobol: ({headDim: dim}) => ({law: {dim}, draw: sobolRows}),
  halton: ({headDim: dim}) => ({law: {dim}, draw: haltonRows}),
  'orth-tall': ({numFeatures, headDim: dim}) =>
    numFeatures > dim ? {law: {dim}, draw: tallGiven} : undefined,
  // square factors have rows of one length
  moment: ({numFeatures, headDim}) =>
    numFeatures > headDim + 1
      ? {law: {dim: numFeatures - 1, sphere: true}, draw: momentGiven}
      : undefined,
  'orth-columns': ({numFeatures, headDim}) =>
    numFeatures > headDim ? {law: {dim: numFeatures, sphere: true}, draw: columnsGiven} : undefined,
}
interface RowDraw {
  law: LengthLaw
  /** @returns sources where rows are not as long as what they follow */
  draw(
    shape: MatrixShape,
    stream: StreamOf,
    given?: GivenRow,
  ): Float64Array | {matrix: Float64Array; sources: Float64Array}
}

/** The law of the length that one row can be given; `undefined`: none can. */
export function lengthLaw(name: ProjectionName, shape: MatrixShape): LengthLaw | undefined {
  const byRow = BY_ROW[name]?.(shape)
  if (byRow) return byRow.law
  const source = sourceOf(name, shape)
  return source && {dim: source.size}
}

/** Draws one matrix, with Haar signs. */
export function matrixGiven(request: MatrixRequest): DrawnMatrix {
  const {name, stream, given, numFeatures, headDim} = request
  const shape = {numFeatures, headDim}
  const byRow = BY_ROW[name]?.(shape)
  if (byRow) {
    const drawn = byRow.draw(shape, stream, given && rowGiven(given, headDim, stream('given')))
    if ('sources' in drawn) return drawn
    return {matrix: drawn, sources: lengthsOf(drawn, headDim)}
  }
  const {draw} = projectionNamed(name)
  const source = sourceOf(name, shape)
  if (!source) {
    const matrix = draw(shape, stream, {orthSign: 'haar'})
    return {matrix, sources: lengthsOf(matrix, headDim)}
  }
  const sources = new Float64Array(numFeatures)
  const matrix = draw(shape, steered(source, {stream, given, sources}), {orthSign: 'haar'})
  return {matrix, sources}
}

/** A row of that length and of uniform direction. */
function rowGiven({row, length}: GivenLength, headDim: number, stream: RandomStream): GivenRow {
  const vector = new Float64Array(headDim)
  stream.fillNormals(vector)
  const scale = length / norm(vector)
  return {row, vector: vector.map(entry => scale * entry)}
}

function lengthsOf(matrix: Float64Array, headDim: number): Float64Array {
  return Float64Array.from({length: matrix.length / headDim}, (_, row) =>
    norm(rowOf(matrix, row, headDim)),
  )
}

/** Where lengths are given, and where they are noted. */
interface Steering {
  stream: StreamOf
  given: GivenLength | undefined
  sources: Float64Array
}

/** The same streams; vectors of the source are stretched where a length is given, and their lengths noted. */
function steered(source: Source, {stream, given, sources}: Steering): StreamOf {
  const {part, size, rows, shared = 1} = source
  return (name, block = 0) => {
    const own = stream(name, block)
    if (name !== part) return own
    const first = block === 0 ? 0 : block * rows
    let at = 0 // vectors drawn before
    const fill = (out: Float64Array | Float32Array) => {
      own.fillNormals(out)
      const count = out.length / size
      for (let vector = 0; vector < count; vector++, at++) {
        const row = first + at * shared
        const entries = out.subarray(vector * size, (vector + 1) * size)
        const wanted = given && Math.floor(given.row / shared) * shared === row
        const length = stretched(entries, wanted ? given.length : undefined)
        for (let i = row; i < Math.min(row + shared, sources.length); i++) sources[i] = length
      }
    }
    return {...wrapped(own), fillNormals: fill}
  }
}

/** The methods of a stream as an object's own. */
function wrapped(own: RandomStream): RandomStream {
  return {
    uint32: () => own.uint32(),
    uniform: () => own.uniform(),
    normal: () => own.normal(),
    integer: bound => own.integer(bound),
    fillNormals: out => own.fillNormals(out),
  }
}

/** Stretches a vector to a length, where one is asked for. @returns its length */
function stretched(vector: Float64Array | Float32Array, wanted: number | undefined): number {
  let squares = 0
  for (const entry of vector) squares += entry ** 2
  const length = Math.sqrt(squares)
  if (wanted === undefined) return length
  for (let d = 0; d < vector.length; d++) vector[d]! *= wanted / length
  return wanted
}
