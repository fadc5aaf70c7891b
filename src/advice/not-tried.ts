/** Methods that advice does not try unless they are asked for, and why. */

import {METHOD_NAMES, type MethodName} from '../attention/names.js'
import {YARDSTICK} from '../experiments/averaging.js'
import {BASELINES} from '../experiments/bench/fields/baselines.js'

/** Reasons that several methods share. */
const EXACT_COST = 'costs as much as exact attention'
const TRAINED = 'takes a model that was trained with it'
const SLOW = 'takes long to measure'
const COMPOSITE = 'has no fused kernel, and takes long to time'
const LEARNED = 'takes learned maps: rfa tune --learn maps'
const OTHER_KERNEL = 'estimates another kernel than softmax; rfa and elu stand for such methods'

/** Why a method is a candidate only where `--methods` names it. */
export const NOT_TRIED: Partial<Record<MethodName, string>> = {
  'rfa-arccos': OTHER_KERNEL,
  'rfa-gate': TRAINED,
  smreg: 'has nearly the features of favor-pos',
  aderf: 'has nearly the features of sderf',
  hrf: SLOW,
  maclaurin: SLOW,
  'favor-relu': OTHER_KERNEL,
  'favor-exp': OTHER_KERNEL,
  'favor-sigmoid': OTHER_KERNEL,
  ra: EXACT_COST,
  'squared-relu': OTHER_KERNEL,
  taylor: COMPOSITE,
  dpfp: COMPOSITE,
  efficient: OTHER_KERNEL,
  hedgehog: LEARNED,
  cosformer: OTHER_KERNEL,
  linformer: TRAINED,
  reformer: TRAINED,
  identity: 'copies values: a yardstick of times',
}

/** Whether a method can be asked for: every one but the exact forms. */
export const CANDIDATES = METHOD_NAMES.filter(name => !BASELINES.includes(name))

/** Why a method was not tried, in words; `--quick` leaves some out, too. */
export function reasonOf(name: string): string {
  return NOT_TRIED[name as MethodName] ?? 'left out by --quick'
}

/** Methods that were not measured. @param methods - those that were */
export function notTried(methods: readonly string[]): MethodName[] {
  return CANDIDATES.filter(name => name !== YARDSTICK && !methods.includes(name))
}
