// Makes a folder aside and puts it in the place of the one before: programs that run meanwhile find all of its files.
import {existsSync, mkdirSync, renameSync, rmSync} from 'node:fs'

/**
 * Replaces a folder. What an interrupted build left of it is removed.
 *
 * @param folder - its path
 * @param fill - writes its files into the folder that it is given
 */
export async function replaceFolder(folder, fill) {
  const [next, old] = [`${folder}.next`, `${folder}.old`]
  for (const left of [next, old]) rmSync(left, {recursive: true, force: true})
  mkdirSync(next, {recursive: true})
  await fill(next)
  if (existsSync(folder)) renameSync(folder, old)
  renameSync(next, folder)
  rmSync(old, {recursive: true, force: true})
}
