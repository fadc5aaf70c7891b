/** Which files an input may be. */
import {basename, resolve} from 'node:path'
import {expected, type RfaError, type RfaErrorCode} from '../errors.js'
import {formatOf} from './files/formats.js'

/**
 * `named`: three arrays of one file, or of each of several files, which are layers, or texts that one layer read. `stacked`:
 * one array of all three. `three`: a file for each.
 */
export type Arrangement = 'named' | 'stacked' | 'three'

/** How arrays lie in files of these names; `undefined` where they make no input. */
export function arrangementOf(paths: readonly string[]): Arrangement | undefined {
  const formats = paths.map(formatOf)
  const all = (...wanted: readonly string[]) =>
    formats.every(format => format !== undefined && wanted.includes(format))
  if (paths.length === 1) return all('.npy') ? 'stacked' : 'named'
  if (all('.npy')) return paths.length === 3 ? 'three' : undefined
  return all('.npz', '.safetensors') && repeated(paths) === undefined ? 'named' : undefined
}

/** A file that is named twice. */
function repeated(paths: readonly string[]): string | undefined {
  const whole = paths.map(path => resolve(path))
  return paths.find((_, at) => whole.indexOf(whole[at]!) < at)
}

/** Error of files that make no input. @param where - what named them */
export function wrongFiles(code: RfaErrorCode, where: string, paths: readonly string[]): RfaError {
  const twice = repeated(paths)
  const named = paths.every(path => ['.npz', '.safetensors'].includes(formatOf(path) ?? ''))
  if (named && twice !== undefined) {
    return expected(code, where, 'each file once', `${twice} twice`)
  }
  const what =
    'one file, several .npz or .safetensors files, or three .npy files in the order query, key, value'
  const remedy = paths.every(path => formatOf(path) === '.npy')
    ? 'name three: --input q.npy,k.npy,v.npy'
    : 'write a backslash before a comma that belongs to the name of a file'
  return expected(code, where, what, `${paths.length} files: ${paths.join(', ')}`, remedy)
}

/** Most files that are named one by one. */
const MOST_NAMES = 3

/** Names of files without folders: `layer0.safetensors`, or `layer0.safetensors and 11 more files`. */
export function filesText(paths: readonly string[]): string {
  const names = paths.map(path => basename(path))
  if (names.length <= MOST_NAMES) return names.join(', ')
  return `${names[0]} and ${names.length - 1} more files`
}
