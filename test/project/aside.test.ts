/** scripts/aside.js: folders that a build replaces. */
import {existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {newFolder} from '../helpers/folders.js'

const {filesInUse, replaceFolder} = await import(join(packageRoot(), 'scripts', 'aside.js'))

it('keeps the files of a folder until those that replace them are there', async () => {
  const parent = await newFolder()
  const folder = join(parent, 'program')
  const fill = (text: string) => async (place: string) => {
    if (existsSync(folder)) expect(readdirSync(folder)).toEqual(['old.js'])
    writeFileSync(join(place, text === 'one' ? 'old.js' : 'new.js'), text)
  }
  await replaceFolder(folder, fill('one'))
  mkdirSync(`${folder}.next`) // an interrupted build
  writeFileSync(join(`${folder}.next`, 'half.js'), '')
  await replaceFolder(folder, fill('two'))
  expect(readdirSync(parent)).toEqual(['program'])
  expect(readdirSync(folder)).toEqual(['new.js'])
  expect(readFileSync(join(folder, 'new.js'), 'utf8')).toBe('two')
})

it('leaves to running programs the files that they began with, until there are others yet', async () => {
  const parent = await newFolder()
  const [folder, list] = [join(parent, 'program'), join(parent, 'program.json')]
  const build = (...parts: string[]) =>
    replaceFolder(
      folder,
      async (place: string) => {
        for (const part of parts) writeFileSync(join(place, part), part)
        writeFileSync(join(place, 'main.js'), parts.join())
      },
      {list},
    )
  await build('a-1', 'b-1')
  await build('a-2', 'b-1')
  await build('a-2', 'b-1') // changes nothing
  expect(readdirSync(folder).sort()).toEqual(['a-1', 'a-2', 'b-1', 'main.js'])
  expect(filesInUse(list)).toEqual(['a-2', 'b-1', 'main.js'])
  await build('a-3', 'b-1')
  expect(readdirSync(folder).sort()).toEqual(['a-2', 'a-3', 'b-1', 'main.js'])
  expect(readFileSync(join(folder, 'main.js'), 'utf8')).toBe('a-3,b-1')
})

it('does not touch files that stay the same', async () => {
  const folder = join(await newFolder(), 'program')
  const fill = async (place: string) => writeFileSync(join(place, 'a.js'), 'same')
  await replaceFolder(folder, fill)
  const {ino} = statSync(join(folder, 'a.js'))
  await replaceFolder(folder, fill)
  expect(statSync(join(folder, 'a.js')).ino).toBe(ino)
})

it('leaves a folder as it was when its files cannot be made', async () => {
  const folder = join(await newFolder(), 'program')
  await replaceFolder(folder, async (place: string) => writeFileSync(join(place, 'a.js'), ''))
  const failing = replaceFolder(folder, async () => {
    throw new Error('no such source')
  })
  await expect(failing).rejects.toThrow('no such source')
  expect(readdirSync(folder)).toEqual(['a.js'])
})
