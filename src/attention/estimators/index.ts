import {type RfaError, unknownName} from '../../errors.js'

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
  efficient: () => import('./efficient.js'),
  cosformer: () => import('./cosformer.js'),
  nystrom: () => import('./nystrom.js'),
  linformer: () => import('./linformer.js'),
  reformer: () => import('./reformer.js'),
  'mean-value': () => import('./mean-value.js'),
  identity: () => import('./identity.js'),
} as const

/** An estimator's name. */
export type MethodName = keyof typeof REGISTRY
export const METHOD_NAMES = Object.keys(REGISTRY) as readonly MethodName[]

/** Every estimator by name, each with its own option types. */
export type Estimators = {
  readonly [Name in MethodName]: Awaited<ReturnType<(typeof REGISTRY)[Name]>>['default']
}

/** What papers and libraries call some of them: no names here, but what is meant by them. */
const ALSO_CALLED: ReadonlyMap<string, MethodName> = new Map([
  ['exact', 'softmax'],
  ['flash', 'softmax-online'],
  ['performer', 'favor-pos'],
  ['favor+', 'favor-pos'],
  ['favor++', 'oprf'],
  ['favor#', 'saderf'],
  ['elu+1', 'elu'],
  ['linear', 'elu'],
  ['nystromformer', 'nystrom'],
])

/** Error for a method that does not exist. @param choices - what is accepted in its place */
export function unknownMethod(
  where: string,
  name: string,
  choices: readonly string[] = METHOD_NAMES,
): RfaError {
  return unknownName(where, 'methods', name, choices, ALSO_CALLED.get(String(name).toLowerCase()))
}

let loaded: Promise<Estimators> | undefined
let estimators: Estimators | undefined

/** Loads all estimators (once). */
export function loadEstimators(): Promise<Estimators> {
  loaded ??= Promise.all(
    METHOD_NAMES.map(async name => [name, (await REGISTRY[name]()).default] as const),
  ).then(entries => {
    estimators = Object.fromEntries(entries) as Estimators
    return estimators
  })
  return loaded
}

/** The estimators, if {@link loadEstimators} has finished. */
export function loadedEstimators(): Estimators | undefined {
  return estimators
}
