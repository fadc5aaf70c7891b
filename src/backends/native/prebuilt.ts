/** Whether a prebuilt addon is the one that was packed: a damaged one may crash the process that loads it. */
import {createHash} from 'node:crypto'
import {existsSync, readFileSync} from 'node:fs'
import {join, relative} from 'node:path'

/** Below the package: checksums of its prebuilt addons in the format of `sha256sum`. A checkout has none. */
const SUMS = 'prebuilds/SHA256SUMS'

/**
 * Compares an addon with its checksum.
 *
 * @param root - of the package
 * @param file - that would be loaded
 * @returns how it differs; `undefined` where it does not, or where it was not packed
 */
export function whyNotAsPacked(root: string, file: string): string | undefined {
  const sums = join(root, SUMS)
  const path = relative(root, file).replaceAll('\\', '/')
  if (!path.startsWith('prebuilds/') || !existsSync(sums)) return undefined
  const lines = readFileSync(sums, 'utf8').split('\n')
  const line = lines.find(each => each.endsWith(`  ${path.slice('prebuilds/'.length)}`))
  const [wanted = ''] = line?.split('  ') ?? []
  const got = createHash('sha256').update(readFileSync(file)).digest('hex')
  if (got === wanted) return undefined
  return `${path}: expected SHA-256 ${wanted || 'in SHA256SUMS'}, got ${got}`
}
