#!/usr/bin/env node
// Times gradients of fused operations beside the operations themselves, on the native backend with one thread: CPU time of
// the fastest of some runs, and the share of the multiply-add peak that counted work takes of it.
// npm run bench:gradients -- [--filter NAME] [--seconds N]
import {parseArgs} from 'node:util'
import * as tf from '@tensorflow/tfjs-core'
import {loadAddon} from '../src/backends/native/loader.js'
import {useBackend} from '../src/index.js'
import {machineFacts} from '../src/results/folder/machine.js'
import {rowsText} from './calibrate/rows.js'
import {type GradientCase, gradientCases} from './gradient-cases.js'

const {values: flags} = parseArgs({
  options: {
    filter: {type: 'string', default: ''},
    seconds: {type: 'string', default: '2'},
  },
})

// of the built package: TensorFlow.js has its gradients in a form that Node does not read
await import(new URL('../gradients.js', import.meta.url).href)
await useBackend('native', {threads: 1})
const loaded = loadAddon()
if (!('addon' in loaded)) throw new Error(loaded.reason)
const {addon} = loaded
const {cpu} = await machineFacts({timed: true})
let peak = 0
const timed = gradientCases()
  .filter(({name}) => name.includes(flags.filter))
  .map(given => ({...given, ...timesOf(given)}))
process.stdout.write(`${cpu}, one thread\n${rowsText(timed.map(rowOf))}\n`)

interface Times {
  forward: number
  backward: number
}

/** Milliseconds of the operation and of its gradients. */
function timesOf({inputs, run}: GradientCase): {ms: Times} {
  const out = tf.tidy(() => tf.onesLike(run(...inputs)))
  const both = tf.grads(run)
  let [forward, all] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const end = performance.now() + 1000 * Number(flags.seconds)
  // both in turn: what else the machine does comes over them alike
  do {
    peak = Math.max(peak, addon.fmaPeak(0.01))
    forward = Math.min(
      forward,
      milliseconds(() => run(...inputs)),
    )
    all = Math.min(
      all,
      milliseconds(() => both([...inputs], out)),
    )
  } while (performance.now() < end)
  tf.dispose([out, ...inputs])
  return {ms: {forward, backward: all - forward}}
}

/** Times with the shares of the peak, which is the largest that any round had. */
function rowOf({name, ms, flops}: GradientCase & {ms: Times}) {
  const share = (of: keyof Times) => (100 * flops[of]) / (1e6 * peak * ms[of])
  return {
    ...{operation: name, 'forward ms': ms.forward, '% of peak': share('forward')},
    ...{'backward ms': ms.backward, '% of peak ': share('backward')},
    'of forward': share('backward') / share('forward'),
  }
}

/** CPU time of a run. */
function milliseconds(run: () => tf.TensorContainer): number {
  const begin = process.cpuUsage()
  tf.tidy(() => {
    run()
  })
  const {user, system} = process.cpuUsage(begin)
  return (user + system) / 1e3
}
