/** Learned parameters that a command line names. */
import type {ProjectionName} from '../../attention/names.js'
import type {MethodSpec} from '../../experiments/axes.js'
import {
  hasLearnedRows,
  readTuned,
  type TunedFile,
  type TunedSetting,
  tunedSpecOf,
  tunedWarnings,
} from '../../tuned/index.js'

interface TunedFlags {
  parameters?: string | undefined
  tuned?: string | undefined
}

/** The file that flags name; `undefined`: they name none. */
export async function tunedFile({
  parameters,
  tuned = parameters,
}: TunedFlags): Promise<TunedFile | undefined> {
  return tuned === undefined ? undefined : readTuned(tuned)
}

/** Methods with the one of a file in both forms, as it is and with learned parameters. */
export function withTuned(
  methods: readonly MethodSpec[],
  file: TunedFile | undefined,
): MethodSpec[] {
  if (!file) return [...methods]
  const {method, preset, options} = file
  const plain: MethodSpec = {method, preset, options: {...options}}
  const at = methods.findIndex(spec => JSON.stringify(spec) === JSON.stringify(plain))
  const own = at < 0 ? [...methods, plain] : methods
  const place = at < 0 ? own.length : at + 1
  return own.toSpliced(place, 0, {...plain, tuned: tunedSpecOf(file)})
}

/** What runs where flags leave it open. */
interface DrawDefaults {
  projections: readonly ProjectionName[]
  numFeatures: readonly number[]
}

/**
 * The same with projection and M of a file: both forms of the method then have a row there.
 *
 * @param isAlone - whether nothing else runs. Default: they are among the others
 */
export function withTunedDraws<Grid extends DrawDefaults>(
  grid: Grid,
  file: TunedFile | undefined,
  isAlone = false,
): Grid {
  const joined = <T>(others: readonly T[], own: T | null | undefined) =>
    own == null ? others : [...new Set(isAlone ? [own] : [...others, own])]
  return {
    ...grid,
    projections: joined(grid.projections, file?.projection),
    numFeatures: joined(grid.numFeatures, file?.numFeatures).toSorted((a, b) => a - b),
  }
}

/** What to say of parameters that were learned for other attention than that of a model, each text once. */
export function learnedElsewhere(
  file: TunedFile | undefined,
  {causal, scale}: Pick<TunedSetting, 'causal' | 'scale'>,
): string[] {
  const texts = file?.layers.flatMap(({layer}) => tunedWarnings(file, {layer, causal, scale}))
  return [...new Set(texts)]
}

/** What to say where more draws were asked for than there are learned random vectors for. */
export function fewerDraws(
  replicates: number | undefined,
  file: TunedFile | undefined,
): string | undefined {
  if (!file || replicates === undefined || !hasLearnedRows(file)) return undefined
  const {draws} = tunedSpecOf(file)
  if (draws === null || draws >= replicates) return undefined
  return `\`replicates: ${replicates}\`: ${file.path} has ${draws} draws of random vectors, so ${file.method} (tuned) is measured with ${draws}`
}
