/** From the names and options that a caller gives to an estimator and the options in force; no tensors. */
import type {z} from 'zod'
import {describe, expected, unknownName} from '../errors.js'
import {loadedEstimators, unknownMethod} from './estimators/index.js'
import type {Estimator} from './forms/estimator.js'
import {PRESET_NAMES, type PresetName} from './types.js'

/**
 * The estimator of that name.
 *
 * @throws {BACKEND_NOT_READY} before `await useBackend(...)` or `await loadEstimators()`
 * @throws {UNKNOWN_NAME} for a name that is not in the registry
 */
export function estimatorNamed(name: string): Estimator {
  const estimators = loadedEstimators()
  if (!estimators) {
    const remedy = "call await useBackend('auto') once before"
    throw expected('BACKEND_NOT_READY', 'attention', 'a backend', 'none yet', remedy)
  }
  if (!Object.hasOwn(estimators, name)) throw unknownMethod('method', name)
  return (estimators as Readonly<Record<string, Estimator>>)[name]!
}

/**
 * Options in force: defaults, then those of the preset, then the explicit ones.
 *
 * @throws {UNKNOWN_NAME} for an unknown preset or option
 * @throws {UNSUPPORTED} for a preset that this estimator does not have
 * @throws {BAD_OPTION} for a value outside its range
 */
export function resolveOptions<Schema extends z.ZodObject>(
  estimator: Pick<Estimator<Schema>, 'name' | 'options' | 'presets'>,
  preset: PresetName,
  explicit: Record<string, unknown> = {},
): z.output<Schema> {
  const known = Object.keys(estimator.options.shape)
  for (const name of Object.keys(explicit)) {
    if (known.includes(name)) continue
    if (known.length > 0) throw unknownName(estimator.name, 'options', name, known)
    throw expected('UNKNOWN_NAME', estimator.name, 'no options', describe(name))
  }
  const parsed = estimator.options.safeParse({...presetOptions(estimator, preset), ...explicit})
  if (parsed.success) return parsed.data as z.output<Schema>
  const issue = parsed.error.issues[0]!
  const name = String(issue.path[0])
  const where = `${estimator.name}.${name}`
  const remedy = `see rfa methods ${estimator.name}`
  throw expected('BAD_OPTION', where, allowed(issue), describe(explicit[name]), remedy)
}

/** What an option accepts, from the schema's complaint about another value. */
function allowed(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return `a number ${issue.inclusive ? 'of at least' : 'above'} ${issue.minimum}`
    case 'too_big':
      return `a number ${issue.inclusive ? 'of at most' : 'below'} ${issue.maximum}`
    case 'invalid_type':
      return `a ${issue.expected}`
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`
    default:
      return issue.message
  }
}

function presetOptions(
  estimator: Pick<Estimator, 'name' | 'presets'> | {name: string; presets: object},
  preset: PresetName,
): Record<string, unknown> {
  if (!PRESET_NAMES.includes(preset)) throw unknownName('preset', 'presets', preset, PRESET_NAMES)
  if (preset === 'exact') return {}
  const presets = estimator.presets as Estimator['presets']
  const found = presets[preset]
  if (found) return found.options as Record<string, unknown>
  const what = `a preset of ${['exact', ...Object.keys(presets)].join(', ')}`
  throw expected('UNSUPPORTED', estimator.name, what, describe(preset))
}

/** Whether these options make the estimator use random vectors. */
export function usesProjection(estimator: Estimator, options: Record<string, unknown>): boolean {
  const {projection} = estimator
  return projection !== undefined && (projection.used?.(options) ?? true)
}
