// Makes a folder aside and then puts its files in place, each in one step: programs that run meanwhile find all of theirs.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import {dirname, join, relative} from 'node:path'

/**
 * Replaces the files of a folder; those that stay the same are left alone. What an interrupted build left is removed.
 *
 * @param folder - its path
 * @param fill - writes its files into the folder that it is given
 * @param options.list - file with the names of those that are in use. With it, the files that were in use before stay as
 *   well, until others take the place of these: programs that have begun may load them yet
 */
export async function replaceFolder(folder, fill, {list} = {}) {
  const next = `${folder}.next`
  rmSync(next, {recursive: true, force: true})
  mkdirSync(next, {recursive: true})
  await fill(next)
  const files = filesIn(next)
  const changed = files.filter(file => !sameBytes(join(next, file), join(folder, file)))
  const isNew = file => !existsSync(join(folder, file))
  // new files first: those that are replaced refer to them
  for (const file of [...changed.filter(isNew), ...changed.filter(file => !isNew(file))]) {
    mkdirSync(dirname(join(folder, file)), {recursive: true})
    renameSync(join(next, file), join(folder, file))
  }
  rmSync(next, {recursive: true, force: true})
  const before = list ? filesInUse(list) : undefined
  if (before && changed.length === 0 && before.length === files.length) return
  const kept = new Set([...files, ...(before ?? [])])
  for (const file of filesIn(folder)) if (!kept.has(file)) rmSync(join(folder, file))
  removeEmpty(folder)
  if (list) writeFileSync(list, `${JSON.stringify(files)}\n`)
}

/** The files that a list of {@link replaceFolder} names, with slashes; none where there is no list. */
export function filesInUse(list) {
  return existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []
}

/** Paths of all files below a folder, with slashes. */
function filesIn(folder) {
  return readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort()
}

function sameBytes(one, other) {
  return existsSync(other) && readFileSync(one).equals(readFileSync(other))
}

/** Removes folders that hold no file. */
function removeEmpty(folder) {
  for (const entry of readdirSync(folder, {withFileTypes: true})) {
    if (!entry.isDirectory()) continue
    const path = join(folder, entry.name)
    removeEmpty(path)
    if (readdirSync(path).length === 0) rmSync(path, {recursive: true})
  }
}
