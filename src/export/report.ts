import {commandText, typeablePath} from '../report/command-line.js'
import {plural} from '../report/numbers.js'
import type {ExportRecord} from './record.js'

/** What is in the files, and which command reads them. */
export function writtenLayers(
  bin: string,
  {layers, texts_read, texts_left_out, seq_len, heads, key_heads, head_dim, model}: ExportRecord,
): string {
  const first = layers[0]!
  const shared = key_heads === heads ? '' : `, ${key_heads} of keys and values`
  const what = `q, k and v of ${plural(layers.length, 'layer')} of ${model}`
  const sizes = `${plural(texts_read, 'text')} of up to ${plural(seq_len, 'token')}, ${plural(heads, 'head')} of ${head_dim}${shared}`
  const without =
    texts_left_out === 0 ? '' : `; ${plural(texts_left_out, 'text')} left out: no token`
  const next = `next: ${commandText([bin, 'error-sweep', '--input', typeablePath(first.path)])}`
  return [`${what}: ${sizes}${without}`, next].join('\n')
}
