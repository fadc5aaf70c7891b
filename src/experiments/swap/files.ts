/** The files of a swap: texts, and digests by which a run knows that they are the same. */
import {createHash} from 'node:crypto'
import {createReadStream} from 'node:fs'
import {readdir, readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {expected} from '../../errors.js'
import {openError} from '../../inputs/files/source.js'

/** Texts of a file, one a line, or of a folder, one a file; with the SHA-256 of names and bytes. */
export interface TextFile {
  texts: string[]
  digest: string
}

/**
 * Reads the lines of a file that hold anything; of a folder its .txt files, in the order of their names, each as one text.
 *
 * @throws {FILE_MISSING | BAD_FILE} for a file that cannot be read, or without any text
 */
export async function readTexts(path: string): Promise<TextFile> {
  const hash = createHash('sha256')
  const read = async (file: string) => {
    const bytes = await readFile(file).catch((cause: unknown) => {
      throw openError(file, cause)
    })
    hash.update(bytes)
    return bytes.toString('utf8')
  }
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
  const texts: string[] = []
  if (isFolder) {
    const names = (await readdir(path)).filter(name => name.endsWith('.txt')).sort()
    for (const name of names) {
      hash.update(`${name}\n`)
      texts.push(await read(join(path, name)))
    }
  } else {
    texts.push(...(await read(path)).split('\n'))
  }
  const filled = texts.filter(text => text.trim() !== '')
  if (filled.length > 0) return {texts: filled, digest: hash.digest('hex')}
  throw expected('BAD_FILE', path, isFolder ? 'a text in .txt files' : 'texts, one a line', 'none')
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
