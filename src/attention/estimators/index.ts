import {expected, type RfaError, unknownName} from '../../errors.js'
import type {Estimator} from '../forms/estimator.js'
import type {RegisteredMethods} from '../registered.js'

/**
 * The registry: one line per estimator, its name and its file. Everything else (options, help,
 * tests, tables, costs) derives from the facts the file declares. Files load on demand, so that
 * names cost nothing.
 */
const REGISTRY = {
  softmax: () => import('./softmax.js'),
  'softmax-online': () => import('./softmax-online.js'),
  rfa: () => import('./rfa.js'),
  'rfa-arccos': () => import('./rfa-arccos.js'),
  'rfa-gate': () => import('./rfa-gate.js'),
  'favor-pos': () => import('./favor-positive.js'),
  'favor-hyp': () => import('./favor-hyperbolic.js'),
  'favor-trig': () => import('./favor-trigonometric.js'),
  smreg: () => import('./smreg.js'),
  oprf: () => import('./oprf.js'),
  saderf: () => import('./saderf.js'),
  aderf: () => import('./aderf.js'),
  sderf: () => import('./sderf.js'),
  hrf: () => import('./hrf.js'),
  maclaurin: () => import('./maclaurin.js'),
  'favor-relu': () => import('./favor-relu.js'),
  'favor-exp': () => import('./favor-exp.js'),
  'favor-sigmoid': () => import('./favor-sigmoid.js'),
  ra: () => import('./ra.js'),
  lara: () => import('./lara.js'),
  eva: () => import('./eva.js'),
  elu: () => import('./elu.js'),
  'squared-relu': () => import('./squared-relu.js'),
  dpfp: () => import('./dpfp.js'),
  taylor: () => import('./taylor.js'),
  hedgehog: () => import('./hedgehog.js'),
  efficient: () => import('./efficient.js'),
  cosformer: () => import('./cosformer.js'),
  nystrom: () => import('./nystrom.js'),
  linformer: () => import('./linformer.js'),
  reformer: () => import('./reformer.js'),
  'mean-value': () => import('./mean-value.js'),
  identity: () => import('./identity.js'),
} as const

/** The name of an estimator of this package. */
type OwnName = keyof typeof REGISTRY
/** An estimator's name: of this package, or declared in {@link RegisteredMethods}. */
export type MethodName = OwnName | keyof RegisteredMethods
/** The estimators of this package; {@link methodNames} has those of others, too. */
export const METHOD_NAMES = Object.keys(REGISTRY) as readonly OwnName[]

/** Every estimator by name, each with its own option types. */
export type Estimators = {
  readonly [Name in MethodName]: Name extends OwnName
    ? Awaited<ReturnType<(typeof REGISTRY)[Name]>>['default']
    : RegisteredMethods[Name & keyof RegisteredMethods]
}

/** What papers and libraries call some of them, in small letters: no names here, but what is meant by them. */
const ALSO_CALLED: ReadonlyMap<string, OwnName> = new Map([
  ['exact', 'softmax'],
  ['sdpa', 'softmax'],
  ['flash', 'softmax-online'],
  ['flash attention', 'softmax-online'],
  ['random feature attention', 'rfa'],
  ['performer', 'favor-pos'],
  ['favor', 'favor-pos'],
  ['favor+', 'favor-pos'],
  ['favor++', 'oprf'],
  ['favor#', 'saderf'],
  ['elu+1', 'elu'],
  ['linear', 'elu'],
  ['linear attention', 'elu'],
  ['linear transformer', 'elu'],
  ['fast weights', 'dpfp'],
  ['based', 'taylor'],
  ['nystromformer', 'nystrom'],
  ['lsh attention', 'reformer'],
])

/** Names of papers and libraries for a method. */
export function otherNames(method: string): string[] {
  return [...ALSO_CALLED].flatMap(([name, own]) => (own === method ? [name] : []))
}

/** Estimators of others, in the order in which they came. */
const registered: Record<string, Estimator> = {}

/** The names of all estimators there are now: those of this package, then registered ones. */
export function methodNames(): string[] {
  return [...METHOD_NAMES, ...Object.keys(registered)]
}

/** Adds an estimator of somebody else. @throws {BAD_PLUGIN} where another one has its name */
export function addEstimator(estimator: Estimator): void {
  const {name} = estimator
  assertNameFree(name)
  registered[name] = estimator
  if (estimators) Object.assign(estimators, {[name]: estimator})
}

/** @throws {BAD_PLUGIN} where an estimator has this name */
export function assertNameFree(name: string): void {
  const taken = methodNames().find(other => other.toLowerCase() === name.toLowerCase())
  if (taken === undefined) return
  const origin = Object.hasOwn(REGISTRY, taken) ? 'a built-in one' : 'registered before'
  const what = 'a name that no other estimator has'
  const remedy = `choose another name, e.g. my-${name}`
  throw expected('BAD_PLUGIN', name, what, `${taken}, ${origin}`, remedy)
}

/** Error for a method that does not exist. @param choices - what is accepted in its place */
export function unknownMethod(
  where: string,
  name: string,
  choices: readonly string[] = methodNames(),
): RfaError {
  const said = String(name).toLowerCase()
  const meant = ALSO_CALLED.get(said) ?? ALSO_CALLED.get(said.replaceAll(/[-_]/g, ' '))
  return unknownName(where, 'methods', name, choices, meant)
}

let loaded: Promise<Estimators> | undefined
let estimators: Estimators | undefined

/** Loads all estimators (once); those that are registered later join them. */
export function loadEstimators(): Promise<Estimators> {
  loaded ??= Promise.all(
    METHOD_NAMES.map(async name => [name, (await REGISTRY[name]()).default] as const),
  ).then(entries => {
    estimators = {...Object.fromEntries(entries), ...registered} as unknown as Estimators
    return estimators
  })
  return loaded
}

/** The estimators, if {@link loadEstimators} has finished. */
export function loadedEstimators(): Estimators | undefined {
  return estimators
}
