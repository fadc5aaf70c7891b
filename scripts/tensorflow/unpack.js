// Puts what is needed of a wheel into a folder, whole or not at all.
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {dirname, join} from 'node:path'
import {pipeline} from 'node:stream/promises'
import {openPromise} from 'yauzl'
import {diskFull} from './failure.js'
import {LINKS, placeOf} from './wheels.js'

/** Names what was unpacked, so that it is not done twice. */
const MARK = 'wheel.json'

/** Whether a folder holds what this wheel has. */
export function isUnpacked(folder, {sha256}) {
  const mark = join(folder, MARK)
  const libraries = Object.keys(LINKS).map(name => join(folder, 'lib', name))
  if (![mark, ...libraries].every(file => existsSync(file))) return false
  return JSON.parse(readFileSync(mark, 'utf8')).sha256 === sha256
}

/**
 * Libraries, C headers and terms of a wheel, under `lib`, `include` and next to them.
 *
 * @throws {Failure} where the disk is full
 */
export async function unpack(file, folder, {wheel, say}) {
  const half = `${folder}.part`
  rmSync(half, {recursive: true, force: true})
  try {
    await unpackInto(file, half, {wheel, say})
  } catch (error) {
    rmSync(half, {recursive: true, force: true})
    throw diskFull(error, folder) ?? error
  }
  rmSync(folder, {recursive: true, force: true})
  renameSync(half, folder)
}

async function unpackInto(file, folder, {wheel, say}) {
  let bytes = 0
  const archive = await openPromise(file)
  for await (const entry of archive.eachEntry()) {
    const place = entry.fileName.endsWith('/') ? undefined : placeOf(entry.fileName)
    if (!place) continue
    const path = join(folder, place)
    mkdirSync(dirname(path), {recursive: true})
    const content = await archive.openReadStreamPromise(entry)
    content.on('data', part => {
      bytes += part.length
      say.progress(bytes / wheel.unpacked)
    })
    await pipeline(content, createWriteStream(path))
  }
  for (const [link, target] of Object.entries(LINKS)) symlinkSync(target, join(folder, 'lib', link))
  const {file: name, sha256} = wheel
  writeFileSync(join(folder, MARK), `${JSON.stringify({file: name, sha256})}\n`)
}
