import type {ExportRequest} from '../../export/record.js'
import {packagedFile} from '../../inputs/packaged.js'
import {type FlagValues, oneNumber, oneText, toggle, ungrouped} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {computeFlags, layerList} from '../flags/shared.js'
import {toLayers} from './input-spec.js'
import {swapFlags} from './swap.js'
import {engineFor, namedModel, PACKAGED_TEXTS} from './swap-files.js'

/** As many as learning from a layer takes, a fifth of them held out. */
const MAX_TEXTS = 60
const MAX_TOKENS = 128

/** The flags of `rfa export`. */
export const exportFlags = {
  model: ungrouped(swapFlags.model),
  texts: ungrouped(swapFlags.texts),
  'max-texts': oneNumber(POSITIVE_INTEGER)(`first texts to read (default: ${MAX_TEXTS})`),
  'max-tokens': oneNumber(POSITIVE_INTEGER)(
    `tokens at which a text is cut (default: ${MAX_TOKENS})`,
  ),
  layer: layerList({
    description: 'layers to write: lists a,b, ranges 0..11, or all (default: all)',
  }),
  output: oneText('folder for layer0.safetensors, layer1.safetensors and so on', {
    char: 'o',
    helpValue: 'DIR',
    required: true,
  }),
  force: toggle('replace files that exist'),
  engine: ungrouped(swapFlags.engine),
  device: ungrouped(swapFlags.device),
  backend: ungrouped(computeFlags.backend),
  threads: ungrouped(computeFlags.threads, 'threads to compute with (default: one per processor)'),
}
/** What `rfa export` was asked for; a missing value was not typed. */
export type ExportFlags = FlagValues<typeof exportFlags>

export async function toExportRequest(flags: ExportFlags): Promise<ExportRequest> {
  return {
    model: await namedModel(flags),
    texts: flags.texts ?? packagedFile(PACKAGED_TEXTS),
    maxTexts: flags['max-texts'] ?? MAX_TEXTS,
    maxTokens: flags['max-tokens'] ?? MAX_TOKENS,
    layers: toLayers(flags) ?? 'all',
    output: flags.output,
    force: flags.force,
    ...engineFor(flags),
    backend: flags.backend ?? 'auto',
    threads: flags.threads,
  }
}
