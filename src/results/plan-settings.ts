/** Places of a plan as the settings that a caller wrote, for messages: commands show them as flags. */
import type {Place} from './plan-difference.js'
import type {Plan} from './record.js'

/** Settings whose names are not those of their fields in camel case. */
const NAMES: Readonly<Record<string, string>> = {
  seq_lens: 'seqLen',
  head_dims: 'headDim',
  angles_deg: 'angles',
  'until_ci.relative_half_width': 'untilCi',
  'until_ci.metric': 'ciMetric',
  'until_ci.max_replicates': 'maxReplicates',
  until_ci: 'untilCi',
  'timing.warmup_runs': 'warmup',
  'timing.min_time_ns': 'minTime',
  'input.paths': 'input',
  'input.name': 'generator',
  'input.names.query': 'queryName',
  'input.names.key': 'keyName',
  'input.names.value': 'valueName',
  'input.names.key_mask': 'keyMaskName',
  layers: 'layer',
  logit_scale: 'scale',
}

/** An estimator of a plan; the manifest has been checked. */
interface Method {
  method: string
  preset: string
  options: Readonly<Record<string, unknown>>
}

/**
 * What a plan has at some place, e.g. `` `seed: 3` ``, `` `causal` ``, or no `` `layout` ``.
 *
 * @param place - see {@link Place}
 * @param value - what stands there; `undefined`: nothing
 */
export function settingText(place: Place, value: unknown): string {
  const field = place.join('.')
  if (field === 'input.digest') return `input of SHA-256 ${String(value ?? 'unknown')}`
  if (place[0] === 'methods') return methodsText([value].flat() as Method[])
  if (place[0] === 'plugins') return pluginsText(value as Plan['plugins'])
  if (place[0] === 'sampled' && field !== 'sampled.input') return pairsText(value)
  const name = NAMES[field] ?? camelCase(place.at(-1) ?? '')
  if (value === undefined || value === null || value === false) return `no \`${name}\``
  if (value === true) return `\`${name}\``
  const shown = field === 'timing.min_time_ns' ? Number(value) / 1e9 : [value].flat().join(',')
  return `\`${name}: ${shown}\``
}

/** Pairs that were drawn from an input: how many, as what they are fills pages. */
function pairsText(value: unknown): string {
  if (value === undefined) return 'no `pairs`'
  const pairs = Array.isArray(value) ? value : (value as {pairs?: unknown[]}).pairs
  return `\`pairs: ${pairs?.length ?? value}\``
}

/** Where an input comes from. */
export function inputText(input: Plan['input']): string {
  if (input?.kind === 'file') return settingText(['input', 'paths'], input.paths)
  return settingText(['input', 'name'], input?.name)
}

/** Modules that estimators come from. */
function pluginsText(plugins: Plan['plugins']): string {
  if (!plugins) return 'no `plugin`'
  return [plugins]
    .flat()
    .map(({path}) => `\`plugin: ${path}\``)
    .join(' ')
}

/** Estimators with the presets and options that make them others. */
function methodsText(methods: readonly Method[]): string {
  const names = [...new Set(methods.map(({method}) => method))]
  const presets = [...new Set(methods.map(({preset}) => preset))]
  const options = methods.flatMap(({method, options}) =>
    Object.entries(options).map(([name, value]) => `\`option: ${method}.${name}=${value}\``),
  )
  return [
    `\`methods: ${names.join(',')}\``,
    ...(presets.some(preset => preset !== 'exact') ? [`\`preset: ${presets.join(',')}\``] : []),
    ...new Set(options),
  ].join(' ')
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
