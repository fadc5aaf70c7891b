#!/usr/bin/env node
// Peak memory of one forward beyond its inputs and its output, in a process of its own (Linux).
// node bench/memory.js METHOD LENGTH CAUSAL prints JSON.
import * as tf from '@tensorflow/tfjs-core'
import {startPeakMemory} from '../dist/src/experiments/bench/memory.js'
import {attention, useBackend} from '../dist/src/index.js'
import {SHAPE} from './cases.js'

const [method, length, causal] = [process.argv[2], Number(process.argv[3]), process.argv[4] === '1']
const {heads, headDim} = SHAPE
const numFeatures = method === 'rfa' || method === 'favor-trig' ? 128 : SHAPE.numFeatures

await useBackend('native')
const forward = n => {
  const tensors = [1, 2, 3].map(seed =>
    tf.tensor4d(noise(seed, heads * n * headDim), [1, heads, n, headDim]),
  )
  return {tensors, run: () => attention(...tensors, {method, causal, numFeatures, seed: 0})}
}
// one short call first: code, projection and threads are not the method's memory at this length
const short = forward(256)
tf.dispose([short.run(), ...short.tensors])

const long = forward(length)
const peak = startPeakMemory()
const out = long.run()
const outputBytes = 4 * out.size
const overBytes = peak()
const report = {
  method,
  causal,
  seq_len: length,
  input_bytes: 3 * outputBytes,
  output_bytes: outputBytes,
  peak_over_inputs_and_output_bytes: overBytes === null ? null : overBytes - outputBytes,
}
process.stdout.write(`${JSON.stringify(report)}\n`)

/** Uniform numbers in [-1, 1) from a linear congruential generator: fast, and never equal to zero pages. */
function noise(seed, size) {
  const values = new Float32Array(size)
  let state = seed
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[i] = state * 2 ** -31
  }
  return values
}
