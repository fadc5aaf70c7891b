/** The files of a swap: texts, and digests by which a run knows that they are the same. */
import {createHash} from 'node:crypto'
import {createReadStream} from 'node:fs'
import {readdir, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {openError} from '../../inputs/files/source.js'

/** Texts of a file, one a line, with the SHA-256 of its bytes. */
export interface TextFile {
  texts: string[]
  digest: string
}

/**
 * Reads the lines of a file that hold anything.
 *
 * @throws {FILE_MISSING | BAD_FILE} for a file that cannot be read, or without any text
 */
export async function readTexts(path: string): Promise<TextFile> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw openError(path, cause)
  })
  const texts = bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
  if (texts.length === 0) throw expected('BAD_FILE', path, 'texts, one a line', 'none')
  return {texts, digest: createHash('sha256').update(bytes).digest('hex')}
}

/** SHA-256 of the files of a model, in the order of their names. */
export async function modelDigest(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter(name => /\.(json|safetensors)$/.test(name)).sort()
  const hash = createHash('sha256')
  for (const name of names) {
    hash.update(`${name}\n`)
    for await (const chunk of createReadStream(join(folder, name))) hash.update(chunk as Buffer)
  }
  return hash.digest('hex')
}
