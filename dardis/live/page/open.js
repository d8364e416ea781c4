"use strict";
// Opens a link: the form uses the key up and brings a cookie.
document.forms[0].submit();
