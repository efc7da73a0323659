"use strict";
// The sandbox's pages for sellers, used as a browser without JavaScript uses
// them: the forms that are there, with what they are filled with.

const assert = require("node:assert/strict");
const { request, PAY } = require("./http.js");

const entities = { amp: "&", lt: "<", gt: ">", quot: "\"", "#39": "'" };
const plain = (text) => text.replace(/&(#?\w+);/g, (all, name) =>
	entities[name] || all);

function attributes(tag) {
	const found = {};
	for (const [, name, value] of tag.matchAll(/([\w-]+)="([^"]*)"/g))
		found[name] = plain(value);
	return found;
}

const words = (html) => plain(html.replace(/<[^>]*>/g, " "))
	.replace(/\s+/g, " ").trim();

function fieldsOf(inside) {
	const inputs = [...inside.matchAll(/<input\b[^>]*>/g)]
		.map(([tag]) => attributes(tag))
		.map(({ name, value = "" }) => [name, value]);
	const selects = [...inside.matchAll(
		/<select\b([^>]*)>\s*<option\b([^>]*)>/g)]
		.map(([, head, first]) => [attributes(head).name,
			attributes(first).value]);
	return Object.fromEntries([...inputs, ...selects]);
}

// The forms of a page: what they are filled with, and their buttons.
function formsOf(html) {
	return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)]
		.map(([, head, inside]) => ({
			action: attributes(head).action,
			fields: fieldsOf(inside),
			buttons: [...inside.matchAll(
				/<button\b([^>]*)>([\s\S]*?)<\/button>/g)]
				.map(([, tag, text]) => ({ ...attributes(tag),
					text: words(text) })),
		}));
}

async function page(path) {
	const answer = await request("GET", path, { base: PAY });
	assert.equal(answer.status, 200, answer.text);
	return answer.text;
}

function post(path, fields, headers = { Origin: PAY }) {
	return request("POST", path, { base: PAY,
		headers: { "Content-Type": "application/x-www-form-urlencoded",
			...headers },
		body: new URLSearchParams(fields).toString() });
}

// Presses the button `do` of the form on the page at path whose fields have
// these values; other fields may be filled in. Where it leads.
async function press(path, act, { where = {}, fill = {} } = {}) {
	const forms = formsOf(await page(path));
	for (const form of forms) {
		const button = form.buttons.find(({ name, value }) =>
			name === "do" && value === act) ||
			(form.fields.do === act && form.buttons[0]);
		if (!button || Object.entries(where).some(([name, value]) =>
			form.fields[name] !== value))
			continue;
		for (const name of Object.keys(fill))
			assert.ok(name in form.fields || name === button.name,
				`no field ${name} in the form to ${act}`);
		const answer = await post(form.action || path, { ...form.fields,
			[button.name]: button.value, ...fill });
		assert.equal(answer.status, 303, answer.text);
		return answer.headers.location;
	}
	throw new Error(`no button to ${act} on ${path}`);
}

module.exports = { page, post, press, formsOf, words };
