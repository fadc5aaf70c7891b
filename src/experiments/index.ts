/** The experiments by name; what they compute, plan and print loads on demand. */
import {unknownName} from '../errors.js'
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

/** An experiment's name. */
type ExperimentName = keyof typeof REGISTRY
export const EXPERIMENT_NAMES = Object.keys(REGISTRY) as readonly ExperimentName[]

/** @throws {UNKNOWN_NAME} for a name that is not in the registry */
export async function experimentNamed(name: string): Promise<Experiment> {
  const load = Object.hasOwn(REGISTRY, name) ? REGISTRY[name as ExperimentName] : undefined
  if (!load) throw unknownName('experiment', 'experiments', name, EXPERIMENT_NAMES)
  return (await load()).default
}

/** All of them: whoever reads a run does not know yet what it is of. */
export function allExperiments(): Promise<Experiment[]> {
  return Promise.all(EXPERIMENT_NAMES.map(experimentNamed))
}
