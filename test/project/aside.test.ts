/** scripts/aside.js: folders that a build replaces. */
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, it} from 'vitest'
import {packageRoot} from '../../src/package.js'
import {newFolder} from '../helpers/folders.js'

const {replaceFolder} = await import(join(packageRoot(), 'scripts', 'aside.js'))

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

it('leaves a folder as it was when its files cannot be made', async () => {
  const folder = join(await newFolder(), 'program')
  await replaceFolder(folder, async (place: string) => writeFileSync(join(place, 'a.js'), ''))
  const failing = replaceFolder(folder, async () => {
    throw new Error('no such source')
  })
  await expect(failing).rejects.toThrow('no such source')
  expect(readdirSync(folder)).toEqual(['a.js'])
})
