// A prebuilt addon in its place: what it was made of and by, and whether it runs on the oldest system that Node does.
import {spawnSync} from 'node:child_process'
import {createHash} from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import {dirname, join} from 'node:path'

/** The oldest libraries that Node 20 runs on: glibc 2.28 and the libstdc++ of gcc 8. */
const NEWEST = {GLIBC: '2.28', GLIBCXX: '3.4.25', CXXABI: '1.3.11', GCC: '7.0.0'}

/**
 * A sum over all that an addon is made of and by: another file, another content or another compiler gives another sum.
 *
 * @param root - of the package
 * @param parts - files and folders, relative to it
 * @param compiler - its version, in its own words
 */
export function sumOf(root, parts, compiler) {
  const hash = createHash('sha256').update(compiler)
  for (const part of parts) {
    const isFolder = statSync(join(root, part)).isDirectory()
    const names = isFolder ? readdirSync(join(root, part), {recursive: true}).sort() : ['']
    for (const path of names.map(name => join(part, name))) {
      if (statSync(join(root, path)).isDirectory()) continue
      const content = readFileSync(join(root, path))
      hash.update(`\0${path}\0${content.length}\0`).update(content)
    }
  }
  return hash.digest('hex')
}

/** Whether the addon at this place is the one that was put there with this sum. */
export function isMadeOf(place, sum) {
  const noted = noteOf(place)
  return existsSync(place) && existsSync(noted) && readFileSync(noted, 'utf8') === `${sum}\n`
}

/**
 * Puts a built addon in its place, if it may be there: an addon that fails leaves the place as it was.
 *
 * @returns what it needs, in words
 * @throws where it needs a newer system than Node does
 */
export function putAddon(built, place, sum) {
  const needs = checkedNeeds(built)
  const half = `${place}.part`
  mkdirSync(dirname(place), {recursive: true})
  try {
    copyFileSync(built, half)
    rmSync(noteOf(place), {force: true})
    renameSync(half, place)
  } finally {
    rmSync(half, {force: true})
  }
  writeFileSync(noteOf(place), `${sum}\n`)
  return needs
}

/** The file next to an addon with its sum; it is not packed. */
function noteOf(place) {
  return `${place}.sha256`
}

/** The newest version of each library that an addon needs, in words; throws where one is newer than it may be. */
function checkedNeeds(file) {
  const {error, status, stdout, stderr} = spawnSync('objdump', ['-p', file], {encoding: 'utf8'})
  if (error)
    throw new Error(`objdump does not run: ${error.message}; on Debian: apt install binutils`)
  if (status !== 0) throw new Error(`objdump -p ${file}: ${stderr.trim()}`)
  const newest = newestOf(stdout.slice(stdout.indexOf('Version References:')))
  if (!newest.GLIBC) throw new Error(`${file}: objdump -p names no version of glibc`)
  for (const [library, version] of Object.entries(newest)) {
    const most = NEWEST[library]
    if (most && !isNewer(version, most)) continue
    throw new Error(
      `${file}: needs ${library} ${version}, expected at most ${most}; objdump -T names the function, older-libc.h takes an earlier one`,
    )
  }
  return Object.entries(newest)
    .map(words => words.join(' '))
    .join(', ')
}

function newestOf(references) {
  const newest = {}
  for (const [, library, version] of references.matchAll(/ ([A-Z]+)_([\d.]+)$/gm)) {
    if (!(library in newest) || isNewer(version, newest[library])) newest[library] = version
  }
  return newest
}

function isNewer(version, than) {
  return version.localeCompare(than, 'en', {numeric: true}) > 0
}
