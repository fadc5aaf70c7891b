/** Files of a model and of what it reads, by a digest from which a run knows that they are the same. */
import {createHash, type Hash} from 'node:crypto'
import {join} from 'node:path'
import {openFile} from '../inputs/files/source.js'
import {modelFiles} from '../model/index.js'

/** Bytes that are read at once. */
const PIECE = 2 ** 22

/** SHA-256 of the files that a model is read from, in the order of their names. @param engine - what reads it */
export async function modelDigest(folder: string, engine?: 'transformers'): Promise<string> {
  const hash = createHash('sha256')
  for (const name of await modelFiles(folder, engine)) {
    hash.update(`${name}\n`)
    await hashFile(hash, join(folder, name))
  }
  return hash.digest('hex')
}

/** SHA-256 of a file. */
export async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256')
  await hashFile(hash, path)
  return hash.digest('hex')
}

async function hashFile(hash: Hash, path: string): Promise<void> {
  const source = await openFile(path)
  try {
    for (let at = 0; at < source.size; at += PIECE) {
      hash.update(await source.read(at, Math.min(PIECE, source.size - at)))
    }
  } finally {
    await source.close()
  }
}
