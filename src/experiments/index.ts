/** The experiments by name; what they compute, plan and print loads on demand. */
import {expected, unknownName} from '../errors.js'
import type {Comparison} from './comparison.js'
import type {Experiment} from './experiment.js'

/** One line per experiment: its name and its folder. */
const REGISTRY = {
  'error-sweep': () => import('./error-sweep/index.js'),
  bench: () => import('./bench/index.js'),
  variance: () => import('./variance/index.js'),
  inputs: () => import('./inputs/index.js'),
  swap: () => import('./swap/index.js'),
  tune: () => import('./tune/index.js'),
  train: () => import('./train/index.js'),
} as const satisfies Record<string, () => Promise<{default: Experiment}>>

type ExperimentName = keyof typeof REGISTRY
export const EXPERIMENT_NAMES = Object.keys(REGISTRY) as readonly ExperimentName[]

/** @throws {UNKNOWN_NAME} for a name that is not in the registry */
export async function experimentNamed(name: string): Promise<Experiment> {
  const load = Object.hasOwn(REGISTRY, name) ? REGISTRY[name as ExperimentName] : undefined
  if (!load) throw unknownName('experiment', 'experiments', name, EXPERIMENT_NAMES)
  return (await load()).default
}

/** How runs of an experiment are compared. @throws {UNSUPPORTED} where they are not */
export async function comparisonOf({name, comparison}: Experiment): Promise<Comparison> {
  if (comparison) return comparison()
  const compared = (await allExperiments()).filter(other => other.comparison)
  const what = `runs of ${compared.map(other => other.name).join(' or ')}`
  throw expected('UNSUPPORTED', 'compare', what, `one of ${name}`, 'rfa report shows several runs')
}

/** All of them: whoever reads a run does not know yet what it is of. */
export function allExperiments(): Promise<Experiment[]> {
  return Promise.all(EXPERIMENT_NAMES.map(experimentNamed))
}
