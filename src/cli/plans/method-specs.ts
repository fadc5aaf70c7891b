import type {Estimator} from '../../attention/index.js'
import {METHOD_NAMES, methodNames, type PresetName, resolveOptions} from '../../attention/names.js'
import {describe, expected, unknownName} from '../../errors.js'
import {type MethodSpec, plainSpec} from '../../experiments/axes.js'
import type {OptionAssignment} from '../flags/kinds.js'
import {type NumberRule, parseNumberItem} from '../flags/ranges.js'

/** The registry as a plan needs it: facts by name, in registry order. */
export type EstimatorFacts = Readonly<Record<string, Estimator>>

/** The flags that say which estimators run in which variant. */
export interface MethodFlags {
  methods?: readonly string[] | undefined
  preset?: readonly PresetName[] | undefined
  option?: readonly OptionAssignment[] | undefined
}

/** Whether flags ask for what only the estimators know. Else methods stand in plans as they are named. */
export function asksEstimators({preset, option}: MethodFlags): boolean {
  return preset !== undefined || option !== undefined
}

/** A value as plans hold it: plain JSON. */
type OptionValue = MethodSpec['options'][string]

/**
 * Methods x presets, with the options that each of them understands.
 *
 * A method that declares none of the presets runs as `exact`; an option goes to every selected
 * method that declares it, and a preset or option that no selected method declares is refused. An option with
 * a list of values makes a method of each of them, and several such options one of each combination.
 *
 * @param fallback - methods when the flag was not given, which those of plug-ins join
 * @param estimators - the registry; may be empty unless {@link asksEstimators}
 * @throws {BAD_OPTION} for a value outside its range, an option given twice, or one that changes nothing
 * @throws {UNKNOWN_NAME} for an option or preset that no selected method has
 */
export function toMethodSpecs(
  flags: MethodFlags,
  fallback: readonly string[],
  estimators: EstimatorFacts,
): MethodSpec[] {
  const added = methodNames().slice(METHOD_NAMES.length)
  const names = selectedNames(flags.methods ?? [...fallback, ...added])
  if (!asksEstimators(flags)) return names.map(plainSpec)
  const selected = names.map(name => estimators[name]!)
  const presets = [...new Set(flags.preset ?? ['exact' as const])]
  const assignments = flags.option ?? []
  checkPresets(presets, selected)
  checkAssignments(assignments, selected)
  const specs = selected.flatMap(estimator =>
    presetsOf(estimator, presets).flatMap(preset =>
      combinations(assignmentsOf(estimator, assignments)).map(given => ({
        method: estimator.name,
        preset,
        options: optionsOf(estimator, preset, given),
      })),
    ),
  )
  checkEffects(specs, estimators)
  return specs
}

/** An option that changes nothing wherever it was set is a slip. @throws {BAD_OPTION} */
function checkEffects(specs: readonly MethodSpec[], estimators: EstimatorFacts): void {
  const set = specs.flatMap(({method, preset, options}) => {
    const estimator = estimators[method]!
    const unused = estimator.unused?.(resolveOptions(estimator, preset, options)) ?? {}
    return Object.keys(options).map(name => ({method, name, reason: unused[name]}))
  })
  for (const {method, name, reason} of set) {
    if (reason === undefined || set.some(one => one.name === name && !one.reason)) continue
    const remedy = `leave ${name} out, or set another stabilizer, or a preset that has one`
    const got = `${name} for ${method}: ${reason}`
    throw expected('BAD_OPTION', '--option', 'one that changes something', got, remedy)
  }
}

/** Names in the order typed, each once; `all` stands for the whole registry. */
function selectedNames(methods: readonly string[]): string[] {
  return [...new Set(methods.flatMap<string>(name => (name === 'all' ? methodNames() : name)))]
}

function presetsOf(estimator: Estimator, presets: readonly PresetName[]): PresetName[] {
  const declared = presets.filter(preset => declares(estimator, preset))
  return declared.length > 0 ? declared : ['exact']
}

/** Every estimator has its exact form; other presets only where it says so. */
function declares(estimator: Estimator, preset: PresetName): boolean {
  return preset === 'exact' || estimator.presets[preset] !== undefined
}

/** A preset that changes nothing anywhere is a slip. @throws {UNKNOWN_NAME} */
function checkPresets(presets: readonly PresetName[], selected: readonly Estimator[]): void {
  for (const preset of presets) {
    if (selected.some(estimator => declares(estimator, preset))) continue
    const what = `a preset that one of ${selected.map(({name}) => name).join(', ')} has`
    const remedy = `rfa methods --preset ${preset} lists who has it`
    throw expected('UNKNOWN_NAME', '--preset', what, describe(preset), remedy)
  }
}

/** Each option must reach at least one selected method, once. @throws {BAD_OPTION | UNKNOWN_NAME} */
function checkAssignments(
  assignments: readonly OptionAssignment[],
  selected: readonly Estimator[],
) {
  const seen = new Set<string>()
  for (const {method, name} of assignments) {
    const id = method === null ? name : `${method}.${name}`
    if (seen.has(id)) throw expected('BAD_OPTION', '--option', `${id} once`, 'it twice')
    seen.add(id)
    const takers = selected.filter(estimator => method === null || estimator.name === method)
    if (takers.length === 0) {
      const chosen = selected.map(estimator => estimator.name)
      throw unknownName('--option', 'selected methods', method ?? name, chosen)
    }
    if (takers.some(estimator => hasOption(estimator, name))) continue
    const known = takers.flatMap(estimator => Object.keys(estimator.options.shape))
    if (known.length > 0) throw unknownName('--option', 'options', name, [...new Set(known)])
    throw expected('UNKNOWN_NAME', '--option', `no option: the methods have none`, describe(id))
  }
}

/** Own names only: `constructor` is not an option. */
function hasOption(estimator: Estimator, name: string): boolean {
  return Object.hasOwn(estimator.options.shape, name)
}

/** The values of an option that one method is to have, in turn. */
type OptionAxis = readonly [name: string, values: readonly OptionValue[]]

/** Options that a method was given, each with its values: by name, or to all. The more specific form wins. */
function assignmentsOf(
  estimator: Estimator,
  assignments: readonly OptionAssignment[],
): OptionAxis[] {
  const own = (owner: string | null) =>
    assignments
      .filter(({method, name}) => method === owner && hasOption(estimator, name))
      .map(({name, value}): OptionAxis => [name, typedValues(estimator, name, value)])
  return [...new Map([...own(null), ...own(estimator.name)])]
}

/** One of each combination of values, those of the last option running fastest. */
function combinations(axes: readonly OptionAxis[]): Record<string, OptionValue>[] {
  return axes.reduce<Record<string, OptionValue>[]>(
    (all, [name, values]) => all.flatMap(one => values.map(value => ({...one, [name]: value}))),
    [{}],
  )
}

/** The options that differ from the preset. */
function optionsOf(
  estimator: Estimator,
  preset: PresetName,
  given: Record<string, OptionValue>,
): Record<string, OptionValue> {
  const base = resolveOptions(estimator, preset)
  const full = resolveOptions(estimator, preset, given)
  const differing = Object.keys(given).filter(name => full[name] !== base[name])
  return Object.fromEntries(differing.map(name => [name, full[name] as OptionValue]))
}

/**
 * The values of a text: itself where the option takes it, commas and all; else each of a list `1,4,16` or of a range
 * `1..16x4`, whether the option takes it or not.
 */
function typedValues(estimator: Estimator, name: string, text: string): OptionValue[] {
  const whole = typedValue(estimator, name, text)
  const parts = text.split(',').map(part => part.trim())
  if (accepts(estimator, name, whole) || parts.includes('')) return [whole]
  const each = parts.flatMap(part => rangeValues(part) ?? [part])
  return [...new Set(each)].map(part => typedValue(estimator, name, part))
}

function rangeValues(text: string): string[] | undefined {
  return text.includes('..')
    ? parseNumberItem(text, '--option', ANY_NUMBER).map(value => String(value))
    : undefined
}

/** What an option accepts is said by its own schema. */
const ANY_NUMBER: NumberRule = {what: 'a number', integer: false, accepts: () => true}

function accepts(estimator: Estimator, name: string, value: OptionValue): boolean {
  return estimator.options.shape[name]?.safeParse(value).success ?? false
}

/** The reading of the text (number, truth value, text) that the option accepts. */
function typedValue(estimator: Estimator, name: string, text: string): OptionValue {
  const readings: OptionValue[] = []
  if (Number.isFinite(Number(text))) readings.push(Number(text))
  if (text === 'true' || text === 'false') readings.push(text === 'true')
  readings.push(text)
  const accepted = readings.find(reading => accepts(estimator, name, reading))
  return accepted ?? readings[0] ?? text
}
