/** Methods of plans and cells that run with learned parameters. */
import {
  assertTunedFits,
  type HeadSizes,
  openTuned,
  type TunedFile,
  type TunedSpec,
} from '../tuned/index.js'

/** A method that may have learned parameters. */
interface MaybeTuned {
  method: string
  tuned?: TunedSpec | undefined
  /** M of cells, and of calls. */
  num_features?: number | null
  numFeatures?: number
}

/** The parameters of a cell; `undefined`: it has none. */
export async function tunedOf({
  method,
  tuned,
  numFeatures,
  num_features = tuned?.num_features === null ? null : numFeatures,
}: MaybeTuned): Promise<TunedFile | undefined> {
  return tuned && openTuned(tuned, {method, numFeatures: num_features})
}

/** A layer that queries and keys are of. */
export type TunedPlace = HeadSizes & {layer: number | undefined}

/**
 * Reads the parameters of a plan, and refuses those that do not fit what its cells read.
 *
 * @param places - called where there are parameters
 */
export async function assertTuned(
  methods: readonly MaybeTuned[],
  places: () => Promise<readonly TunedPlace[]>,
): Promise<void> {
  for (const spec of methods) {
    const tuned = await tunedOf(spec)
    if (!tuned) continue
    for (const {layer, ...sizes} of await places()) assertTunedFits(tuned, layer, sizes)
  }
}
