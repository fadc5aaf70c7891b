/** This package's native backend as one of the engines. */
import * as tf from '@tensorflow/tfjs-core'
import {hostData} from '../../src/attention/host-data.js'
import {attention, type Decoder, decoder, useBackend} from '../../src/index.js'
import {type DecodeCase, ownMethod, type PassCase, type PeerCase, rowsOf} from './cases.js'
import type {Engine} from './engine.js'
import type {Inputs} from './inputs.js'

/** The case on so many threads: its output, and how it is timed. */
export async function ownEngine(given: PeerCase, inputs: Inputs, threads: number): Promise<Engine> {
  await useBackend('native', {threads})
  const {run, reset, dispose} =
    given.kind === 'attention' ? passOf(given, inputs) : tokensThrough(given, inputs)
  const once = () => {
    reset()
    const start = process.hrtime.bigint()
    const outs = run()
    const ns = Number(process.hrtime.bigint() - start)
    return {ns, outs}
  }
  const {outs} = once()
  const {output} = hostData(() => ({output: tf.concat(outs, 2)}))
  tf.dispose(outs)
  return {
    ...{engine: 'rfa', form: 'native', departs: {}, output: output as Float32Array},
    time(samples, seconds) {
      const times: number[] = []
      tf.dispose(once().outs)
      const begin = performance.now()
      while (
        times.length < samples &&
        (times.length === 0 || performance.now() - begin < 1e3 * seconds)
      ) {
        const {ns, outs} = once()
        tf.dispose(outs)
        times.push(ns)
      }
      return Promise.resolve(times)
    },
    dispose,
  }
}

/** Work that can be repeated. */
interface Work {
  run(): tf.Tensor4D[]
  /** Puts back what a run changes; not timed. */
  reset(): void
  dispose(): void
}

function passOf({method, heads, headDim, length, causal}: PassCase, inputs: Inputs): Work {
  const tokens = (array: Float32Array) => tf.tensor4d(array, [1, heads, length, headDim])
  const [query, key, value] = [inputs.query, inputs.key, inputs.value].map(tokens) as Token
  const projection = projectionOf(method, headDim, inputs)
  const options = {method: ownMethod(method), causal, ...randomness(method, projection)}
  return {
    run: () => [attention(query, key, value, {...options, ...presetOf(method)})],
    reset() {},
    dispose: () => tf.dispose([query, key, value, projection]),
  }
}

type Token = [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D]

function tokensThrough(given: DecodeCase, inputs: Inputs): Work {
  const {method, heads, headDim, position, tokens} = given
  const projection = projectionOf(method, headDim, inputs)
  const rows = Array.from({length: position + tokens}, (_, t) => tokenAt(given, inputs, t))
  let step: Decoder | undefined
  return {
    run: () => rows.slice(position).map(row => step!.next(...row)),
    reset() {
      // a cache must be of the right length; sums cost the same whatever they hold
      if (step && method !== 'softmax') return
      step?.dispose()
      const sizes = {heads, headDim, valueDim: headDim}
      // a cache has no tiles: one query meets all keys
      const name = method === 'softmax' ? method : ownMethod(method)
      step = decoder({method: name, ...sizes, ...randomness(method, projection)})
      for (const row of rows.slice(0, position)) step.next(...row).dispose()
    },
    dispose() {
      step?.dispose()
      tf.dispose([rows, projection])
    },
  }
}

/** Query, key and value of token t, `[1, H, 1, D]` each. */
function tokenAt({heads, headDim}: DecodeCase, {query, key, value}: Inputs, t: number): Token {
  const length = query.length / heads / headDim
  return [query, key, value].map(array => {
    const token = new Float32Array(heads * headDim)
    for (let head = 0; head < heads; head++) {
      const start = (head * length + t) * headDim
      token.set(array.subarray(start, start + headDim), head * headDim)
    }
    return tf.tensor4d(token, [1, heads, 1, headDim])
  }) as Token
}

function projectionOf(method: PeerCase['method'], headDim: number, {projection}: Inputs) {
  const rows = rowsOf(method)
  return tf.tensor2d(projection.slice(0, rows * headDim), [rows, headDim])
}

/** Only methods of random features take a projection. */
function randomness(method: PeerCase['method'], projection: tf.Tensor2D) {
  const random = method === 'favor-pos' || method === 'rfa'
  return random ? {numFeatures: rowsOf(method), projection} : {}
}

/** What the peers of a method compute where they differ from the published form. */
function presetOf(method: PeerCase['method']) {
  return method === 'efficient' ? {preset: 'linear-attention-transformer' as const} : {}
}
