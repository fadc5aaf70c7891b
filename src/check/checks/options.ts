/** Every option off its default: it runs, or is refused in words, and what holds for the default holds for it. */
import {type Estimator, PRESET_NAMES, type PresetName} from '../../attention/index.js'
import {resolveOptions, supportsOf} from '../../attention/names.js'
import {messageOf, RfaError} from '../../errors.js'
import {randomStream} from '../../random/index.js'
import {SMALL} from '../calls/arrays.js'
import {type Call, optionsOf, runCall} from '../calls/call.js'
import {callOf, formsOf, square} from '../calls/forms.js'
import {Tally} from '../calls/tally.js'
import {type Check, type Finding, notApplicable, type Subject} from '../types.js'
import {causalRows} from './causality.js'
import {optionFacts} from './option-values.js'
import {compareDecoded, recurrentCall} from './recurrence.js'

/** One value of one option, or a preset. */
interface Variant {
  label: string
  option: string | undefined
  options: Record<string, unknown>
  preset: PresetName
}

/** Numbers and guards that an option is tried at; of an enum all values are. */
const NUMBERS = 2

/** Values off the default of all options, as their schemas suggest them, and presets. */
function variantsOf({estimator, seed}: Subject): Variant[] {
  const values = optionFacts(estimator).flatMap(facts => {
    const stream = randomStream(seed, `options.${facts.name}`)
    return facts.draw(stream, NUMBERS, 1).map(value => ({
      label: `${facts.name}=${String(value)}`,
      option: facts.name,
      options: {[facts.name]: value},
      preset: 'exact' as const,
    }))
  })
  const presets = PRESET_NAMES.filter(name => estimator.presets[name])
  const all = presets.map(preset => ({
    label: `preset ${preset}`,
    option: undefined,
    options: {},
    preset,
  }))
  return [...values, ...all]
}

/** Even lengths, and a square of tokens, which grids and chunks divide. */
const TOKENS = 16

/** The call of a variant, and why a form of it is refused, where it is. */
function attempt(given: Call): {out: Float32Array} | {refused: string} | {threw: string} {
  try {
    return {out: runCall(given).out}
  } catch (error) {
    const refused = error instanceof RfaError && REFUSALS.includes(error.code)
    return refused ? {refused: messageOf(error)} : {threw: messageOf(error)}
  }
}

/** Codes of errors that refuse a value or a form; what an estimator throws itself has another one. */
const REFUSALS: readonly string[] = ['BAD_OPTION', 'UNSUPPORTED', 'BAD_RANGE', 'TOO_LARGE']

/** Each variant runs in every form that it has, and gives finite numbers; some form of it moves something. */
function options(subject: Subject): Finding {
  const variants = variantsOf(subject)
  if (variants.length === 0) {
    const note = notesOf(subject.estimator, [], new Set(), new Set())
    return notApplicable(`has no options to try and no presets${note ? `; ${note}` : ''}`)
  }
  const tally = new Tally(
    'the option: a value that its schema allows must run, or be refused by an RfaError (refuses, for a whole form)',
  )
  const refused = new Set<string>()
  const moved = new Set<string>()
  for (const {label, option, ...chosen} of variants) {
    const supports = supportsOf(
      subject.estimator,
      resolveOptions(subject.estimator, chosen.preset, chosen.options),
    )
    for (const {name, causal} of formsOf(subject)) {
      if (!supports[name]) continue
      const plain = callOf(subject, square(SMALL, TOKENS), {causal})
      const found = attempt({...plain, ...chosen})
      if ('refused' in found) refused.add(`${label}: ${found.refused}`)
      tally.expect(
        label,
        !('threw' in found),
        () => `${name}: threw: ${(found as {threw: string}).threw}`,
      )
      if (!('out' in found)) continue
      const at = found.out.findIndex(x => !Number.isFinite(x))
      tally.expect(label, at < 0, () => `${name}: element ${at} of the output is ${found.out[at]}`)
      const before = runCall(plain).out
      if (option !== undefined && found.out.some((x, i) => x !== before[i])) moved.add(option)
    }
  }
  return tally.finding(notesOf(subject.estimator, variants, moved, refused))
}

/**
 * Notes on a pass: options without a known other value, options that changed nothing alone, values that were refused.
 */
function notesOf(
  {options, unused}: Estimator,
  variants: readonly Variant[],
  moved: ReadonlySet<string>,
  refused: ReadonlySet<string>,
): string | undefined {
  const declared = unused?.(options.parse({})) ?? {}
  const still = [...new Set(variants.flatMap(({option}) => option ?? []))].filter(
    option => !moved.has(option) && !(option in declared),
  )
  const untried = Object.keys(options.shape).filter(
    name => !variants.some(({option}) => option === name),
  )
  const notes = [
    ...(untried.length > 0 ? [`not tried: ${untried.join(', ')}`] : []),
    ...(still.length > 0 ? [`no effect by itself: ${still.join(', ')}`] : []),
    ...(refused.size > 0 ? [`refused: ${[...refused].join('; ')}`] : []),
  ]
  return notes.length > 0 ? notes.join('; ') : undefined
}

/** Options that are declared unused by default change no bit. */
function unusedOptions(subject: Subject): Finding {
  const {estimator} = subject
  const unused = Object.keys(estimator.unused?.(estimator.options.parse({})) ?? {})
  if (unused.length === 0)
    return notApplicable('declares no option that is unused by default (unused)')
  const tally = new Tally(
    'unused: it names options that change no bit of an output, with the other options as they are',
  )
  const variants = variantsOf(subject).filter(({option}) => option && unused.includes(option))
  for (const {label, options: chosen} of variants) {
    for (const {name, causal} of formsOf(subject)) {
      const plain = callOf(subject, SMALL, {causal})
      const before = runCall(plain).out
      const found = attempt({...plain, options: chosen})
      const moves = 'out' in found && found.out.some((x, at) => x !== before[at])
      tally.expect(label, !moves, () => `${name}: it changed the output`)
    }
  }
  return tally.finding()
}

/** With any option the decoder gives what the causal form gives, and rows see no later token, where it declares to decode. */
function recurrentOptions(subject: Subject): Finding {
  const {estimator} = subject
  if (!estimator.supports.decode)
    return notApplicable('declares no recurrent form (supports.decode)')
  const variants = variantsOf(subject).filter(
    ({preset, options: chosen}) =>
      supportsOf(estimator, resolveOptions(estimator, preset, chosen)).decode,
  )
  if (variants.length === 0) return notApplicable('has no options and no presets to decode with')
  const tally = new Tally(
    'options in decoder: it must follow each of them, or refuse to decode with it (refuses: {decode: reason})',
  )
  // of ordinary size: with some options features of large ones overflow, which is not a leak
  const changes = [{first: 9, factor: 1, sides: ['query', 'key', 'value'] as const}]
  for (const {label, preset, options: chosen} of variants) {
    const given = {...recurrentCall(subject, TOKENS, {options: chosen}), preset}
    if ('refused' in attempt(given)) continue
    try {
      compareDecoded(tally, given, label)
      // statistics of the whole call are declared to see later tokens
      if (!('prefix' in optionsOf(given))) causalRows(tally, given, changes, subject)
    } catch (error) {
      tally.expect(label, false, () => `threw: ${messageOf(error)}`)
    }
  }
  return tally.finding()
}

export const OPTION_CHECKS: readonly Check[] = [
  {name: 'options run', group: 'options', run: options},
  {name: 'unused options', group: 'options', run: unusedOptions},
  {name: 'options in the decoder', group: 'options', run: recurrentOptions},
]
