#!/usr/bin/env node
// Peak memory of one forward beyond its inputs and its output, in a process of its own (Linux).
// node dist/bench/memory.js METHOD LENGTH CAUSAL prints JSON.
import * as tf from '@tensorflow/tfjs-core'
import {startPeakMemory} from '../src/experiments/bench/measure/memory.js'
import {attention, type MethodName, useBackend} from '../src/index.js'
import {SHAPE} from './cases.js'
import type {PeakMemory} from './report-schema.js'

const [, , method, lengthText, causalText] = process.argv
const length = Number(lengthText)
const causal = causalText === '1'
const {heads, headDim} = SHAPE
const numFeatures = method === 'rfa' || method === 'favor-trig' ? 128 : SHAPE.numFeatures

await useBackend('native')
// one short call first: code, projection and threads are not the method's memory at this length
const short = forward(256)
tf.dispose([short.run(), ...short.tensors])

const long = forward(length)
const peak = startPeakMemory()
const out = long.run()
const outputBytes = 4 * out.size
const overBytes = peak()
const report: PeakMemory = {
  method: method!,
  causal,
  seq_len: length,
  input_bytes: 3 * outputBytes,
  output_bytes: outputBytes,
  peak_over_inputs_and_output_bytes: overBytes === null ? null : overBytes - outputBytes,
}
process.stdout.write(`${JSON.stringify(report)}\n`)

function forward(n: number) {
  const tokens = (seed: number) =>
    tf.tensor4d(noise(seed, heads * n * headDim), [1, heads, n, headDim])
  const tensors = [tokens(1), tokens(2), tokens(3)] as const
  const options = {method: method as MethodName, causal, numFeatures, seed: 0}
  return {tensors, run: () => attention(...tensors, options)}
}

/** Uniform numbers in [-1, 1) from a linear congruential generator: fast, and never equal to zero pages. */
function noise(seed: number, size: number): Float32Array {
  const values = new Float32Array(size)
  let state = seed
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    values[i] = state * 2 ** -31
  }
  return values
}
