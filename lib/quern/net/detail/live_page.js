'use strict';
const byId = id => document.getElementById(id);

function make(name, text, className) {
  const it = document.createElement(name);
  if (text !== undefined) it.textContent = text;
  if (className) it.className = className;
  return it;
}
function span(ms) {
  if (ms < 1000) return ms + ' ms';
  const s = ms / 1000;
  if (s < 120) return s.toFixed(1) + ' s';
  if (s < 7200) return Math.round(s / 60) + ' min';
  return (s / 3600).toFixed(1) + ' h';
}
function rate(n) { return n >= 100 ? n.toFixed(0) : n.toFixed(1); }
function say(id, text, className) {
  const it = byId(id);
  if (it.textContent !== text) it.textContent = text;
  it.className = className;
}

// Calls that with each picture.
function follow(show) {
  const events = new EventSource('/events');
  events.onmessage = e => show(JSON.parse(e.data));
  events.onerror = () => {
    const refused = events.readyState === EventSource.CLOSED; // which does not come back by itself
    say('health', refused ? 'as many look at this page as may; trying again' : 'the connection is lost; trying again', 'bad');
    if (!refused) return;
    setTimeout(follow, 3000, show);
  };
}
