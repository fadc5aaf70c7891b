import {extname} from 'node:path'
import * as Flags from '@oclif/core/flags'
import {METHOD_NAMES, PRESET_NAMES, PROJECTION_NAMES} from '../../attention/names.js'
import {expected} from '../../errors.js'
import {type TunePlan, tunePlan} from '../../experiments/tune/schema.js'
import {LEARNED, type Learned, LOSSES} from '../../tuned/index.js'
import {
  type FlagValues,
  inGroup,
  nameList,
  numberList,
  oneName,
  oneNumber,
  oneShare,
  present,
} from '../flags/kinds.js'
import {POSITIVE_INTEGER, POSITIVE_NUMBER} from '../flags/ranges.js'
import {
  causalFlags,
  oneMethod,
  onePreset,
  oneProjection,
  optionFlag,
  orthSignFlag,
  pluginFlag,
  runFlags,
  scaleFlag,
} from '../flags/shared.js'
import {inputFlags, toInputSpec, toLayers, type WithCausal} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {modelTuneFlags} from './model-tune.js'
import {checkedPlan, listOr} from './values.js'

/** What runs where nothing is typed. Quick: seconds on the packaged layer. */
const TUNE = {standard: {steps: 60, draws: 3}, quick: {steps: 20, draws: 3}}
const METHOD = 'favor-pos'
const FEATURES = 64
const RATE = 0.01
const HELD_OUT = 0.2

const {output: _, ...howToRun} = runFlags

/** Where parameters and the folder of the run go; a name without an ending is that of the folder. */
const tunedPlace = Flags.custom<string>({
  parse: async (text, _context, {name}) => {
    const path = present(text, `--${name}`)
    if (/^(\.safetensors|\.\d.*|)$/i.test(extname(path))) return path
    const what = 'FILE.safetensors, or a folder without an ending'
    const remedy = 'write .safetensors, which rfa and Python read'
    throw expected('USAGE', `--${name}`, what, path, remedy)
  },
})

export const tuneFlags = {
  ...inputFlags,
  ...modelTuneFlags,
  ...inGroup('LEARNING', {
    method: oneMethod(`the estimator (default: ${METHOD}): ${METHOD_NAMES.join(', ')}`, {
      char: 'm',
    }),
    plugin: pluginFlag('--method takes their names'),
    'num-features': numberList(POSITIVE_INTEGER)(
      `number of random vectors M (default: ${FEATURES})`,
    ),
    projection: oneProjection(
      `random matrix that learning starts from (default: the method's own): ${PROJECTION_NAMES.join(', ')}`,
    ),
  }),
  'orth-sign': orthSignFlag,
  ...inGroup('LEARNING', {
    preset: onePreset(
      `released implementation to reproduce (default: exact): ${PRESET_NAMES.join(', ')}`,
    ),
  }),
  option: optionFlag,
  ...inGroup('LEARNING', {
    learn: nameList({'things to learn': ['temperature', 'maps', 'rows'] as const})(
      'what is learned of each head: one factor on queries and keys (temperature), a D x D map of the queries and one of the keys (maps), the random vectors (rows), or maps,rows (default; maps for a method without random vectors)',
    ),
    loss: oneName({losses: LOSSES})(
      'what is learned for: outputs close to those of exact attention (outputs, default), or close rows of weights, by their cross entropy (rows); rows takes a method without negative weights',
      {helpValue: 'outputs|rows'},
    ),
    steps: oneNumber(POSITIVE_INTEGER)(
      `most steps of Adam (default: ${TUNE.standard.steps}; with --quick: ${TUNE.quick.steps}); learning ends earlier when the held-out error no longer falls`,
    ),
    rate: oneNumber(POSITIVE_NUMBER)(`learning rate (default: ${RATE})`),
    'held-out': oneShare(
      `share of the texts that is held out, of a single text of its tokens (default: ${HELD_OUT})`,
    ),
    draws: oneNumber(POSITIVE_INTEGER)(
      `independent draws of the random vectors (default: ${TUNE.standard.draws})`,
    ),
  }),
  ...inGroup('INPUT', {scale: scaleFlag(), ...causalFlags}),
  ...inGroup('RUN', {
    output: tunedPlace({
      char: 'o',
      helpValue: 'FILE',
      description:
        'FILE.safetensors for what was learned, with the folder FILE of the run next to it (default: results/tune-<date>-<time>)',
    }),
  }),
  ...howToRun,
}
/** What `rfa tune` was asked for; a missing value was not typed. */
export type TypedTuneFlags = FlagValues<typeof tuneFlags>
export type TuneFlags = WithCausal<TypedTuneFlags>

/**
 * The plan of a `rfa tune`.
 *
 * @param estimators - the registry, for options, presets and whether a method has random vectors
 * @throws {USAGE} when the flags make no plan
 */
export function toTunePlan(flags: TuneFlags, estimators: EstimatorFacts): TunePlan {
  const grid = TUNE[flags.quick ? 'quick' : 'standard']
  const layers = toLayers(flags)
  const method = flags.method ?? METHOD
  const projection = flags.projection ?? estimators[method]?.projection?.default
  return checkedPlan(tunePlan, {
    experiment: 'tune',
    input: toInputSpec(flags),
    ...(layers && {layers}),
    methods: [specOf(method, flags, estimators)],
    projections: [projection ?? 'orth'],
    ...(flags['orth-sign'] && {orth_sign: flags['orth-sign']}),
    num_features: [featuresOf(flags)],
    learn: learnOf(flags.learn, estimators[method]?.projection !== undefined),
    ...(flags.loss === 'rows' && {loss: flags.loss}),
    steps: flags.steps ?? grid.steps,
    learning_rate: flags.rate ?? RATE,
    held_out: flags['held-out'] ?? HELD_OUT,
    draws: flags.draws ?? grid.draws,
    ...(flags.scale !== undefined && {logit_scale: flags.scale}),
    causal: flags.causal,
    ...(flags['causal-align'] && {causal_align: flags['causal-align']}),
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/** @throws {USAGE} for several: a file holds parameters of one M */
function featuresOf(flags: TuneFlags): number {
  const [features, another] = listOr(flags['num-features'], '--num-features', [FEATURES])
  if (another === undefined) return features!
  throw expected('USAGE', '--num-features', 'one M', 'a list', 'run once for each M')
}

function specOf(method: string, {preset, option}: TuneFlags, estimators: EstimatorFacts) {
  const typed = {methods: [method], preset: preset && [preset], option}
  const [spec, another] = toMethodSpecs(typed, [], estimators)
  if (another) throw expected('BAD_OPTION', '--option', 'one value of each option', 'a list')
  return spec!
}

/** @throws {USAGE} for what cannot be learned together */
function learnOf(typed: readonly string[] | undefined, hasRows: boolean): Learned {
  if (typed === undefined) return hasRows ? 'maps,rows' : 'maps'
  const asked = [...new Set(typed)].sort().join()
  const found = LEARNED.find(learned => learned === asked)
  if (found) return found
  throw expected('USAGE', '--learn', 'temperature, maps, rows or maps,rows', typed.join())
}
