/** Linformer in double precision: two products along the sequence, then exact attention. */
import {attend, type BoundedMatrix, exactly, matMul, scale, transpose} from '../bounded.js'
import {U} from '../rounding.js'
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

export const linformer: Twin = inputs => {
  const out = emptyOutput(inputs)
  forEachHead(inputs, head => {
    const {query, key, value} = matricesOf(head)
    const keys = mixed(projection(inputs, head, 'keyProjection'), key, head)
    const name = inputs.options.share ? 'keyProjection' : 'valueProjection'
    const values = mixed(projection(inputs, head, name), value, head)
    writeHead(out, head, attend(query, keys, values, {scale: inputs.logitScale}).out)
  })
  return {out}
}

function projection(inputs: TwinInputs, head: Head, name: string): BoundedMatrix {
  const learned = inputs.parameters[name]
  if (learned) return exactly(learned.data, learned.shape[0]!, learned.shape[1]!)
  const drawn = headMatrix(inputs, inputs.noise[name]!, head.index)
  if (inputs.options.init === 'gaussian') return scale(drawn, drawn.columns ** -0.5)
  const centred = {...drawn, value: drawn.value.map(x => 2 * x - 1)}
  return scale({...centred, error: centred.value.map(x => U * Math.abs(x))}, drawn.columns ** -0.5)
}

/** Sums over the keys that are there. */
function mixed(weights: BoundedMatrix, rows: BoundedMatrix, {sees}: Head): BoundedMatrix {
  const value = rows.value.map((x, at) => (sees(0, Math.floor(at / rows.columns)) ? x : 0))
  return matMul(transpose(weights), {...rows, value})
}
